// Draws the model of `sluice top` as lines of text that fit the screen.

import sliceAnsi from "slice-ansi"
import stringWidth from "string-width"
import { sparkline } from "../../terminal/plot.js"
import type { Style } from "../../terminal/terminal.js"
import { printable } from "../../terminal/text.js"
import type { TopModel } from "./model.js"

export interface ViewSize {
  readonly width: number
  /** The number of lines. Rules and keys that do not fit are left out; Infinity shows all. */
  readonly height: number
}

const NAME_WIDTH = 24
const NUMBER_WIDTH = 11

export function viewLines(model: TopModel, url: string, { width, height }: ViewSize, style: Style): string[] {
  const keyRows = Math.min(
    model.keys.length,
    Number.isFinite(height) ? Math.max(3, Math.floor(height / 3)) : 20,
  )
  const tail = [
    "",
    style.bold(`KEYS ${model.by.toUpperCase()} MOST`),
    ...(model.keys.length === 0
      ? [style.dim("  none")]
      : model.keys.slice(0, keyRows).map((key) => keyLine(key))),
  ]
  const head = [titleLine(model, url, style), totalLine(model, style), ""]
  const room = height - head.length - tail.length - 2
  const lines = [...head, ...ruleLines(model, width, room, style), ...tail]
  return lines.map((line) => sliceAnsi(line, 0, width)).slice(0, height - 1)
}

/** The last line of the live view: which keys the user can press. */
export function keyHelp(style: Style): string {
  return style.dim("q quit · d most denied · u most used")
}

function titleLine(model: TopModel, url: string, style: Style): string {
  const { status, revision, version, connectionProblem } = model
  const parts = [
    style.bold(`sluice ${version}`.trimEnd()),
    url,
    ...(revision === undefined ? [] : [`revision ${revision}`]),
    connectionProblem === undefined
      ? status === "ready"
        ? style.green(status)
        : style.yellow(status)
      : style.red(connectionProblem),
  ]
  return parts.filter((part) => part !== "").join(style.dim(" · "))
}

function totalLine({ rate, durations }: TopModel, style: Style): string {
  const total = rate.allowed + rate.denied
  const share = total === 0 ? "" : ` (${((rate.denied / total) * 100).toFixed(1)} %)`
  const denied = `${number(rate.denied)}/s denied${share}`
  const parts = [`${number(rate.allowed)}/s allowed`, rate.denied > 0 ? style.red(denied) : denied]
  if (durations !== undefined) parts.push(`p50 ≤ ${durations.p50Ms} ms, p99 ≤ ${durations.p99Ms} ms`)
  return parts.join("   ")
}

function ruleLines({ rules }: TopModel, width: number, room: number, style: Style): string[] {
  const titles = ["ALLOWED/s", "DENIED/s", "SHADOW/s"].map((title) => title.padStart(NUMBER_WIDTH)).join("")
  const plot = Math.max(0, Math.min(60, width - NAME_WIDTH - 3 * NUMBER_WIDTH - 2))
  const header = style.dim(`${"RULE".padEnd(NAME_WIDTH)}${titles}  ${plot < 12 ? "" : "LAST MINUTE"}`)
  if (rules.length === 0) return [header, style.dim("no decisions yet")]
  const shown = rules.slice(0, Math.max(1, room - 1))
  const lines = shown.map(({ id, rate, series }) => {
    const name = fitted(id === "_none" ? "(no rule)" : printable(id), NAME_WIDTH)
    const denied = number(rate.denied).padStart(NUMBER_WIDTH)
    return [
      name,
      number(rate.allowed).padStart(NUMBER_WIDTH),
      rate.denied > 0 ? style.red(denied) : denied,
      number(rate.shadowDenied).padStart(NUMBER_WIDTH),
      "  ",
      style.cyan(sparkline(series, plot)),
    ].join("")
  })
  const more = rules.length - shown.length
  return [header, ...lines, ...(more > 0 ? [style.dim(`and ${more} more`)] : [])]
}

function keyLine({ count, rule, key }: TopModel["keys"][number]): string {
  return `${Math.round(count).toLocaleString("en").padStart(9)}  ${fitted(printable(rule), NAME_WIDTH - 2)} ${printable(key)}`
}

/** Cuts or pads a text to `width` columns. At least one space follows the text. */
function fitted(text: string, width: number): string {
  if (stringWidth(text) >= width) text = `${sliceAnsi(text, 0, width - 2)}…`
  return text + " ".repeat(width - stringWidth(text))
}

function number(value: number): string {
  if (value === 0) return "0"
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString("en")
}
