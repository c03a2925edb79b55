/** @typedef {{ group: string, name: string, ok: boolean, ms: number, error?: string }} CheckResult */

/** Runs checks one after the other, also after a failure, and keeps their results. */
export class CheckList {
  /** @type {CheckResult[]} */
  results = []
  #say

  /** @param {{ isQuiet: boolean }} options with `isQuiet`, only errors are printed, and to stderr */
  constructor({ isQuiet }) {
    this.#say = (/** @type {string} */ line) => (isQuiet ? console.error(line) : console.log(line))
  }

  /**
   * @param {string} group
   * @param {string} name
   * @param {() => unknown} check throws if it fails
   */
  async run(group, name, check) {
    const started = performance.now()
    let error
    try {
      await check()
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown)
    }
    this.add({ group, name, ok: error === undefined, ms: Math.round(performance.now() - started), error })
  }

  /** @param {CheckResult} result */
  add(result) {
    this.results.push(result)
    const seconds = `${(result.ms / 1000).toFixed(1)} s`.padStart(8)
    this.#say(`${result.ok ? "ok  " : "FAIL"} ${seconds}  ${result.group}: ${result.name}`)
    if (result.error !== undefined) this.#say(result.error.replaceAll(/^/gm, "      "))
  }

  /** The last line: `N passed, N failed`. */
  closingLine() {
    const passed = this.results.filter(({ ok }) => ok).length
    return `${passed} passed, ${this.results.length - passed} failed`
  }
}
