import { checkType } from "../../options.js"
import type { RuleSourceHooks } from "./source.js"

/** How many revisions are kept unless the options say otherwise. */
export const HISTORY = 100

export function checkHistory(history: unknown, place: string): void {
  const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1
  checkType(history, `${place}.history`, "an integer ≥ 1", isCount)
}

export function checkHooks(options: RuleSourceHooks, place: string): void {
  checkType(options.onEvent, `${place}.onEvent`, "a function", (value) => typeof value === "function")
}
