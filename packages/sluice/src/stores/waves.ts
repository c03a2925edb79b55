// Plans which checks of a list may run at the same time, so that every check sees the charges of the checks before it.

import { getOrAdd } from "../get-or-add.js"
import type { Check, Outcome } from "./store.js"

/** Checks that may run at the same time, by their index in the list. */
export interface Wave {
  /** By node: the checks that it decides alone, in the order in which it must run them. */
  readonly alone: Map<number, number[]>
  /** Checks over several nodes. None of them shares a key with another check of the wave. */
  readonly across: number[]
}

/**
 * Cuts a list of checks into waves. Checks of one key keep their order: a node runs its own checks in order, and a check over
 * several nodes waits for the earlier checks on any of its keys. Checks of unrelated keys are all in the first wave.
 */
export function planWaves(checks: readonly Check[], nodeOf: (key: string) => number): Wave[] {
  const waves: Wave[] = []
  /** The last check on each key: its wave, and whether it is over several nodes. */
  const last = new Map<string, { wave: number; across: boolean }>()
  checks.forEach(({ charges }, index) => {
    const keys = new Set(charges.map((charge) => charge.key))
    const nodes = new Set(Array.from(keys, nodeOf))
    const across = nodes.size > 1
    let wave = 0
    for (const key of keys) {
      const before = last.get(key)
      if (before !== undefined) wave = Math.max(wave, before.wave + Number(across || before.across))
    }
    for (const key of keys) last.set(key, { wave, across })
    const here = waves[wave] ?? { alone: new Map<number, number[]>(), across: [] }
    waves[wave] = here
    if (across) here.across.push(index)
    else getOrAdd(here.alone, nodes.values().next().value ?? 0, () => []).push(index)
  })
  return waves
}

/** The indexes of each wave in order, as `Store.wavesOf` returns them. Undefined if no check is over several nodes. */
export function indexWaves(
  checks: readonly Check[],
  nodeOf: (key: string) => number,
): readonly (readonly number[])[] | undefined {
  const waves = planWaves(checks, nodeOf)
  if (waves.every(({ across }) => across.length === 0)) return undefined
  return waves.map(({ alone, across }) => [...alone.values(), across].flat().sort((a, b) => a - b))
}

/** Runs the checks wave by wave, those of one wave at the same time. */
export async function checkInWaves<C extends Check>(
  checks: readonly C[],
  waves: readonly (readonly number[])[] | undefined,
  check: (check: C) => Promise<Outcome>,
): Promise<Outcome[]> {
  if (waves === undefined) return Promise.all(checks.map(check))
  const outcomes = new Array<Outcome>(checks.length)
  for (const wave of waves) {
    const answers = await Promise.all(wave.map((index) => check(checks[index] as C)))
    wave.forEach((index, i) => {
      outcomes[index] = answers[i] as Outcome
    })
  }
  return outcomes
}
