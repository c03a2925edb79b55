import type { Store } from "../../stores/store.js"
import { blocking } from "./blocking.js"
import { changes } from "./changes.js"
import { charging } from "./charging.js"
import { concurrency } from "./concurrency.js"
import type { DefineTest } from "./counter.js"
import { deciding } from "./deciding.js"
import { givingBack } from "./giving-back.js"
import { holding } from "./holding.js"
import { keys } from "./keys.js"
import { penalties } from "./penalties.js"
import { settling } from "./settling.js"
import { severalCharges } from "./several-charges.js"
import { tracesOfEveryAlgorithm } from "./traces.js"
import { usage } from "./usage.js"

export interface StoreContractOptions {
  /** The name of the suite in the report, usually that of the store. */
  name: string
  /**
   * Opens a store for one test; the test closes it. The store need not be empty, because every test uses its own names. Every
   * call passes its time, so the clock of the store does not matter.
   */
  open: () => Store | Promise<Store>
  /** `describe` of vitest, node:test, jest or mocha. */
  describe: (name: string, body: () => void) => unknown
  /** `it` of the same. */
  it: (name: string, body: () => Promise<void>) => unknown
}

/**
 * Defines the tests that every store must pass, with your test runner.
 *
 * ```ts
 * import { describe, it } from "node:test"
 * describeStoreContract({ name: "my store", open: () => myStore(), describe, it })
 * ```
 */
export function describeStoreContract({ name, open, describe, it }: StoreContractOptions): void {
  const test: DefineTest = (title, body) => {
    it(title, async () => {
      const store = await open()
      try {
        await body(store)
      } finally {
        await store.close()
      }
    })
  }
  describe(`${name} keeps the store contract`, () => {
    describe("traces", () => tracesOfEveryAlgorithm(test))
    describe("charging", () => charging(test))
    describe("deciding", () => deciding(test))
    describe("several charges", () => severalCharges(test))
    describe("giving back", () => givingBack(test))
    describe("settling", () => settling(test))
    describe("holds", () => holding(test))
    describe("keys", () => keys(test))
    describe("changes", () => changes(test))
    describe("concurrency", () => concurrency(test))
    describe("blocks", () => blocking(test))
    describe("penalties", () => penalties(test))
    describe("usage", () => usage(test))
  })
}
