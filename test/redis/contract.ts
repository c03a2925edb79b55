import type { Store } from "sluice"
import type { RedisStoreOptions, StoreFailureEvent } from "sluice/redis"
import { describeStoreContract } from "sluice/testing"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { OpenClient } from "./clients.js"

/** On a machine with more work than cores, 50 ms pass before a healthy server has answered. */
export const PATIENT = { deadline: "10s" } as const

/** Makes a store from the clients that were opened. */
export interface ContractSubject {
  name: string
  clients: () => Promise<OpenClient[]>
  store: (clients: readonly OpenClient[], options: RedisStoreOptions) => Store
}

/** Runs the store contract on one kind of store. A failed call would be answered locally and go unnoticed, so none may fail. */
export function describeContractOn({ name, clients, store }: ContractSubject): void {
  describe(name, () => {
    let opened: OpenClient[] = []
    const failures: StoreFailureEvent[] = []
    const onFailure = (event: StoreFailureEvent): void => void failures.push(event)
    beforeAll(async () => {
      opened = await clients()
    })
    afterEach(() => expect(failures.splice(0)).toEqual([]))
    afterAll(async () => {
      await Promise.all(opened.map((client) => client.close()))
    })
    const open = (): Store => store(opened, { ...PATIENT, onFailure })
    describeStoreContract({ name: "it", open, describe, it })
  })
}
