// Writes SVG. A colour is an attribute for light pages and a class that dark mode overrides. The picture has its own background,
// so that it is readable on any page.

const palette = {
  page: ["#ffffff", "#0d1117"],
  edge: ["#d1d9e0", "#3d444d"],
  ink: ["#1f2328", "#f0f6fc"],
  muted: ["#59636e", "#9198a1"],
  grid: ["#e6eaef", "#21262d"],
  pass: ["#2f6fd6", "#4d94ff"],
  calm: ["#a6c1ee", "#2c5596"],
  deny: ["#c9d2dc", "#3a424c"],
  over: ["#d1242f", "#ff6b61"],
  held: ["#d6a21a", "#c99a2e"],
  mark: ["#8250df", "#b48cff"],
}

const fonts = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"

/** @typedef {keyof typeof palette} Ink */
/** @typedef {Record<string, string | number>} Attributes */

/**
 * @param {{ width: number, height: number, title: string, description: string }} options
 * @param {string[]} parts
 */
export function picture({ width, height, title, description }, parts) {
  const dark = Object.entries(palette)
    .map(([name, [, colour]]) => `.f-${name}{fill:${colour}}.s-${name}{stroke:${colour}}`)
    .join("")
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description" font-family="${fonts}" font-size="12">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<style>@media (prefers-color-scheme: dark){${dark}}</style>`,
    tag("rect", {
      x: 0.5,
      y: 0.5,
      width: width - 1,
      height: height - 1,
      rx: 8,
      ...fillAndStroke("page", "edge"),
    }),
    ...parts,
    "</svg>",
    "",
  ].join("\n")
}

/**
 * @param {string} name
 * @param {Attributes} attributes
 * @param {string} [content]
 */
export function tag(name, attributes, content) {
  const merged = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? round(value) : value}"`)
    .join("")
  return content === undefined ? `<${name}${merged}/>` : `<${name}${merged}>${content}</${name}>`
}

/** @param {Ink} ink */
export function fill(ink) {
  return { fill: palette[ink][0], class: `f-${ink}` }
}

/** @param {Ink} ink */
export function stroke(ink) {
  return { stroke: palette[ink][0], class: `s-${ink}` }
}

/** Fill and stroke together, because an element has one class attribute. @param {Ink} inside @param {Ink} outline */
export function fillAndStroke(inside, outline) {
  return { fill: palette[inside][0], stroke: palette[outline][0], class: `f-${inside} s-${outline}` }
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content
 * @param {Ink} ink
 * @param {Attributes} [more]
 */
export function text(x, y, content, ink, more = {}) {
  return tag("text", { x, y, ...fill(ink), ...more }, escaped(content))
}

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {Ink} ink
 * @param {Attributes} [more]
 */
export function line(x1, y1, x2, y2, ink, more = {}) {
  return tag("line", { x1, y1, x2, y2, ...stroke(ink), ...more })
}

/** A path through the points. @param {readonly (readonly [number, number])[]} points */
export function through(points) {
  return points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${round(x)} ${round(y)}`).join("")
}

/** A path of horizontal and vertical lines through the points. @param {readonly (readonly [number, number])[]} points */
export function stairs(points) {
  const [start, ...rest] = points.map(([x, y]) => [round(x), round(y)])
  let path = `M${start[0]} ${start[1]}`
  let [lastX, lastY] = start
  for (const [x, y] of rest) {
    if (x !== lastX) path += `H${x}`
    if (y !== lastY) path += `V${y}`
    lastX = x
    lastY = y
  }
  return path
}

/** @param {number} value */
export function round(value) {
  return String(Math.round(value * 100) / 100)
}

/** @param {string} content */
function escaped(content) {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}
