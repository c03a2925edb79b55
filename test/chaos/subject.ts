import type { Store } from "sluice"
import { connectRedis, type RedisStore, type RedisStoreOptions, type StoreFailureEvent } from "sluice/redis"
import { expect } from "vitest"
import { eventually } from "../support/eventually.js"
import { worstWindow } from "./figures.js"
import { HOT, Load, type LoadOptions, type Sample } from "./load.js"

/** On a machine with more work than cores a healthy server may need more than the usual 50 ms. */
export const DEADLINE = "100ms"
/** For tests that count every check that was degraded without need. */
export const PATIENT_DEADLINE = "400ms"

type FailureListener = (event: StoreFailureEvent) => void

/** This many equal answers in a row count as a state, and not as chance. */
const IN_A_ROW = 30
const WITHIN_MS = 10_000

/** A store under load, with everything that it reported. */
export interface Subject {
  readonly store: RedisStore
  readonly load: Load
  readonly failures: readonly StoreFailureEvent[]
  /** Waits for a run of shared decisions that begins now. */
  shared(): Promise<void>
  /** Waits for a run of decisions without the store that begins now. */
  degraded(): Promise<void>
  /** Waits for a run in which these decisions are made without the store, and no others. */
  only(isTheirs: (sample: Sample) => boolean): Promise<void>
  /** Waits for a run of answers of any kind. */
  answered(): Promise<void>
  /** Ends the load, and asserts what must hold for every decision during any fault. */
  sound(): Promise<void>
  close(): Promise<void>
}

export function underLoad(
  url: string,
  loadOptions: LoadOptions = {},
  storeOptions: RedisStoreOptions = {},
): Promise<Subject> {
  const open = (onFailure: FailureListener): Promise<Store> =>
    connectRedis(url, { deadline: DEADLINE, ...storeOptions, onFailure })
  return loaded(open, loadOptions)
}

/** A store of the caller's making, under load. */
export async function loaded(
  open: (onFailure: FailureListener) => Store | Promise<Store>,
  options: LoadOptions = {},
): Promise<Subject> {
  const failures: StoreFailureEvent[] = []
  const store = (await open((event) => void failures.push(event))) as RedisStore
  const load = new Load(store, options)
  load.start()
  const run = async (what: string, isSo: (sample: Sample) => boolean): Promise<void> => {
    const from = performance.now()
    const inARow = (): boolean => {
      const last = load.since(from).slice(-IN_A_ROW)
      return last.length === IN_A_ROW && last.every(isSo)
    }
    await eventually(inARow, { within: WITHIN_MS, what })
  }
  const end = async (): Promise<void> => {
    load.stop()
    await eventually(() => load.waiting === 0, { what: "every check is answered" })
  }
  return {
    store,
    load,
    failures,
    shared: () => run("decisions are shared", (sample) => !isDegraded(sample)),
    degraded: () => run("decisions are degraded", isDegraded),
    only: (isTheirs) => run("only a share is degraded", (sample) => isDegraded(sample) === isTheirs(sample)),
    answered: () => run("checks are answered", () => true),
    async sound() {
      await end()
      expect(load.errors).toEqual([])
      expectSound(load.samples)
    },
    async close() {
      await end()
      await store.close()
    },
  }
}

export function isDegraded({ degraded }: Sample): boolean {
  return degraded !== undefined
}

/** Asserts what must be true of every decision. */
function expectSound(samples: readonly Sample[]): void {
  const degraded = samples.filter(isDegraded)
  expect(degraded.filter((sample) => sample.degraded !== sample.policy)).toEqual([])
  expect(degraded.filter((sample) => sample.policy === "deny" && sample.allowed)).toEqual([])
  expect(degraded.filter((sample) => sample.policy === "allow" && !sample.allowed)).toEqual([])
}

/** The most that the hot key was admitted in any window of the limit. */
export function worstOf(load: Load, policy: Sample["policy"]): number {
  const admitted = load.samples.filter(
    (sample) => sample.allowed && sample.policy === policy && sample.key === HOT,
  )
  return worstWindow(
    admitted.map((sample) => sample.decidedAt),
    load.windowMs,
  )
}
