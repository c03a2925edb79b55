// Figures in a document live between two markers, so that the text around them is written by people.

import { readFileSync, writeFileSync } from "node:fs"

/**
 * @param {string} text
 * @param {string} name
 * @param {string} figures
 */
export function withFigures(text, name, figures) {
  const start = `<!-- ${name}: figures, written by the benchmark -->`
  const end = `<!-- ${name}: end -->`
  const from = text.indexOf(start)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`needs the lines "${start}" and "${end}"`)
  return `${text.slice(0, from + start.length)}\n\n${figures.trim()}\n\n${text.slice(to)}`
}

/**
 * @param {URL} file
 * @param {string} name
 * @param {string} figures
 */
export function writeFigures(file, name, figures) {
  writeFileSync(file, withFigures(readFileSync(file, "utf8"), name, figures))
}
