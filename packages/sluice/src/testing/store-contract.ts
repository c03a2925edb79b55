import type { Store } from "../stores/store.js"
import { blocking } from "./contract/blocking.js"
import { changes } from "./contract/changes.js"
import { charging } from "./contract/charging.js"
import { concurrency } from "./contract/concurrency.js"
import { deciding } from "./contract/deciding.js"
import { givingBack } from "./contract/giving-back.js"
import { keys } from "./contract/keys.js"
import { severalCharges } from "./contract/several-charges.js"
import { tracesOfEveryAlgorithm } from "./contract/traces.js"

export interface StoreContractOptions {
  /** What the suite is called in the report, usually the store's name. */
  name: string
  /**
   * A store for one test, which closes it at the end. It need not be empty: every test uses names of its own. Every call
   * carries its time, so no clock has to be set.
   */
  open: () => Store | Promise<Store>
  /** `describe` of vitest, node:test, jest or mocha. */
  describe: (name: string, body: () => void) => unknown
  /** `it` of the same. */
  it: (name: string, body: () => Promise<void>) => unknown
}

/** How the parts of the contract define a test: the body gets an open store. */
export type DefineTest = (name: string, body: (store: Store) => Promise<void>) => void

/**
 * Defines the tests that every store has to pass, with the test runner you give it.
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
    describe("keys", () => keys(test))
    describe("changes", () => changes(test))
    describe("concurrency", () => concurrency(test))
    describe("blocks", () => blocking(test))
  })
}
