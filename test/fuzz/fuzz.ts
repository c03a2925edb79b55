// Sends generated inputs to all targets until the time is over, and tells what did not hold.

import { type ChildProcess, fork } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { differences } from "./comparison.js"
import { converse } from "./conversation.js"
import { type Input, inputOf } from "./generator.js"
import { openPlainServer, type PlainServer } from "./plain-server.js"
import { scenarios } from "./scenarios.js"
import type { BenchPorts, BenchSeen, Health, Targets } from "./targets.js"

export interface FuzzOptions {
  readonly seconds: number
  readonly seed: number
  /** Only this input. */
  readonly input?: number | undefined
  /** Only what bytes on one connection do, without the attacks that take time. */
  readonly inputsOnly?: boolean
}

export interface Tried {
  readonly name: string
  tries: number
  failures: number
}

export interface FuzzReport {
  readonly seed: number
  readonly seconds: number
  readonly inputs: number
  readonly tried: readonly Tried[]
  /** The first few things that did not hold, each with how to see it again. */
  readonly failures: readonly string[]
  readonly peakRssMb: number
  /** Growth since all targets had started. */
  readonly grownMb: number
  readonly longestStallMs: number
}

const BENCHES = 8
const QUIET_MS = 150
/** For an input that seemed to fail: the machine may have been slow. */
const PATIENT_MS = 1_500
const MAX_STALL_MS = 50
/** Twenty-four connections at once, an upstream for each of eight benches, and the thread that checks rules. */
const MAX_GROWTH_MB = 300

export async function fuzz({ seconds, seed, input, inputsOnly = false }: FuzzOptions): Promise<FuzzReport> {
  const process = new TargetProcess()
  const references: PlainServer[] = []
  const started = performance.now()
  try {
    const targets = await process.ask<Targets>("start", BENCHES)
    references.push(...(await Promise.all(targets.benches.map(() => openPlainServer()))))
    const tried = new Map<string, Tried>()
    const failures: string[] = []
    const note = (name: string, wrong: readonly string[], again: string) => {
      const entry = tried.get(name) ?? { name, tries: 0, failures: 0 }
      entry.tries++
      if (wrong.length > 0) {
        entry.failures++
        failures.push(`${name} (${again}): ${wrong.join("; ")}`)
      }
      tried.set(name, entry)
    }
    const before = await process.ask<Health>("health")
    let peakRssMb = before.rssMb
    let longestStallMs = 0
    const look = async (name: string, again: string) => {
      const { rssMb, stallMs, errors } = await process.ask<Health>("health")
      peakRssMb = Math.max(peakRssMb, rssMb)
      longestStallMs = Math.max(longestStallMs, stallMs)
      if (stallMs > MAX_STALL_MS)
        failures.push(`${name} (${again}): the event loop was kept for ${Math.round(stallMs)} ms`)
      if (errors.length > 0) failures.push(`${name} (${again}): ${errors[0]}`)
    }

    // Code that runs for the first time is compiled first: that is no stall of any input.
    await scenarios[0]?.run(targets)
    await process.ask<Health>("health")
    if (input === undefined && !inputsOnly) {
      for (const { name, run } of scenarios) {
        note(name, await run(targets), "by itself")
        await look(name, "by itself")
      }
    }
    const benches = targets.benches.map((ports, index) => ({
      index,
      ports,
      reference: references[index] as PlainServer,
    }))
    const end = performance.now() + seconds * 1000
    let next = input ?? 0
    const last = input ?? Number.POSITIVE_INFINITY
    const fill = async (index: number): Promise<void> => {
      while (next <= last && performance.now() < end) {
        const number = next++
        const given = inputOf(seed, number)
        const again = `--seed ${seed} --input ${number}`
        let wrong = await observe(process, benches[index] as Bench, given, QUIET_MS)
        if (wrong.length > 0) {
          // What arrives late belongs to no input.
          await sleep(PATIENT_MS)
          await seenBy(process, benches[index] as Bench)
          wrong = await observe(process, benches[index] as Bench, given, PATIENT_MS)
        }
        note(given.kind, wrong, again)
      }
    }
    await Promise.all(benches.map(({ index }) => fill(index)))
    await look("all inputs", `--seed ${seed}`)
    const inputs = [...tried.values()].reduce((sum, { tries }) => sum + tries, 0)
    const grownMb = peakRssMb - before.rssMb
    if (grownMb > MAX_GROWTH_MB) failures.push(`memory has grown by ${Math.round(grownMb)} MB`)
    return {
      seed,
      seconds: Math.round((performance.now() - started) / 1000),
      inputs,
      tried: [...tried.values()].sort((a, b) => b.tries - a.tries),
      failures,
      peakRssMb: Math.round(peakRssMb),
      grownMb: Math.round(grownMb),
      longestStallMs: Math.round(longestStallMs),
    }
  } finally {
    process.kill()
    for (const reference of references) reference.close()
  }
}

interface Bench {
  readonly index: number
  readonly ports: BenchPorts
  readonly reference: PlainServer
}

/** Sends an input to each target, and compares. */
async function observe(process: TargetProcess, bench: Bench, { pieces, never }: Input, quietMs: number) {
  const { gateway, service } = bench.ports
  const ask = (port: number) => converse(port, pieces, quietMs)
  const [, fromGateway, fromService] = await Promise.all([
    ask(bench.reference.port),
    ask(gateway),
    ask(service),
  ])
  return differences({
    ...(await seenBy(process, bench)),
    gateway: fromGateway,
    service: fromService,
    never,
  })
}

/** What the servers of a bench have received since the last call. */
async function seenBy(process: TargetProcess, { index, reference }: Bench) {
  return { seen: await process.ask<BenchSeen>("take", index), reference: reference.seen.splice(0) }
}

class TargetProcess {
  readonly #child: ChildProcess = fork(new URL("./target-process.mjs", import.meta.url), { execArgv: [] })
  readonly #waiting = new Map<number, (answer: unknown) => void>()
  readonly #ended: Promise<never>
  #last = 0

  constructor() {
    this.#ended = new Promise((_, reject) => {
      this.#child.once("exit", (code, signal) => reject(new Error(`the targets ended: ${signal ?? code}`)))
    })
    this.#ended.catch(() => {})
    this.#child.on("message", ({ id, answer }: { id: number; answer: unknown }) => {
      this.#waiting.get(id)?.(answer)
      this.#waiting.delete(id)
    })
  }

  /** Rejects when the process has ended: that is the worst that an input can do. */
  ask<Answer>(ask: string, value?: unknown): Promise<Answer> {
    const id = ++this.#last
    const answered = new Promise<unknown>((resolve) => this.#waiting.set(id, resolve))
    this.#child.send({ id, ask, value })
    return Promise.race([answered, this.#ended]) as Promise<Answer>
  }

  kill(): void {
    this.#child.kill("SIGKILL")
  }
}
