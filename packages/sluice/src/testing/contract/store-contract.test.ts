// The contract is only worth something if a store that breaks it fails. Each store here has one fault that a real limiter had.

import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import { describe, expect, it } from "vitest"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { type Charge, type Check, Namespace, type Outcome, type Store } from "../../stores/store.js"
import { describeStoreContract } from "./store-contract.js"

/** Runs the contract with a test runner that only takes notes, and returns the names of the tests that failed. */
async function failures(open: () => Store): Promise<string[]> {
  const tests: [name: string, body: () => Promise<void>][] = []
  describeStoreContract({
    name: "a store",
    open,
    describe: (_name, body) => body(),
    it: (name, body) => tests.push([name, body]),
  })
  const failed: string[] = []
  for (const [name, body] of tests) await body().catch(() => failed.push(name))
  return failed
}

/** A right store, of which a fault replaces some calls. */
function faulty(fault: (store: Store) => Partial<Store>): () => Store {
  return () => {
    const store = memoryStore()
    const right: Store = {
      check: (charges, at) => store.check(charges, at),
      decide: (charges, at) => store.decide(charges, at),
      checkMany: (checks) => store.checkMany(checks),
      charge: (charges, at) => store.charge(charges, at),
      refund: (charges, at) => store.refund(charges, at),
      settle: (settlements, at) => store.settle(settlements, at),
      release: (charges, at) => store.release(charges, at),
      extend: (charges, at) => store.extend(charges, at),
      reset: (charges) => store.reset(charges),
      mayBlock: () => true,
      close: () => store.close(),
    }
    return { ...right, ...fault(right) }
  }
}

/** Changes every charge on its way into the store. */
function changing(change: (charge: Charge) => Charge): () => Store {
  return faulty((store) => ({
    check: (charges, at) => store.check(charges.map(change), at),
    decide: (charges, at) => store.decide(charges.map(change), at),
    checkMany: (checks) =>
      store.checkMany(checks.map(({ charges, at }) => ({ charges: charges.map(change), at }))),
    charge: (charges, at) => store.charge(charges.map(change), at),
    refund: (charges, at) => store.refund(charges.map(change), at),
    settle: (settlements, at) =>
      store.settle(
        settlements.map((settlement) => ({ ...settlement, ...change(settlement) })),
        at,
      ),
    reset: (charges) => store.reset(charges.map(change)),
  }))
}

const namespaces = new Map<string, Namespace>()
function namespaceNamed(name: string): Namespace {
  const namespace = namespaces.get(name) ?? new Namespace(name)
  namespaces.set(name, namespace)
  return namespace
}

const faults: [fault: string, open: () => Store, caughtBy: string][] = [
  [
    "charges one limit after the other",
    faulty((store) => ({
      check: async (charges, at) => {
        let last = await store.check([], at)
        const verdicts: Outcome["verdicts"][number][] = []
        for (const charge of charges) {
          last = await store.check([charge], at)
          verdicts.push(...last.verdicts)
          if (!last.allowed) break
        }
        return { ...last, verdicts }
      },
    })),
    "nothing is drained when the last of three charges denies",
  ],
  [
    "reads, waits and then writes",
    faulty((store) => ({
      check: async (charges, at) => {
        const outcome = await store.decide(charges, at)
        await Promise.resolve()
        if (outcome.allowed) await store.charge(charges, at)
        return outcome
      },
    })),
    "of 1000 checks at once exactly 5 pass a limit of 5",
  ],
  [
    "charges what it denies",
    faulty((store) => ({
      check: async (charges, at) => {
        const outcome = await store.check(charges, at)
        if (!outcome.allowed) await store.charge(charges, at)
        return outcome
      },
    })),
    "token-bucket: a denied check charges nothing",
  ],
  [
    "charges a check of cost 0",
    changing((charge) => (charge.cost === 0 ? { ...charge, cost: 1 } : charge)),
    "fixed-window: a cost of 0 charges nothing",
  ],
  [
    "joins namespace and key by a colon",
    changing((charge) => ({
      ...charge,
      namespace: namespaceNamed("all"),
      key: `${charge.namespace.name}:${charge.key}`,
    })),
    "two namespaces never mix",
  ],
  [
    "cuts long keys off",
    changing((charge) => ({ ...charge, key: charge.key.slice(0, 256) })),
    "no two odd keys share a counter",
  ],
  [
    "normalises keys",
    changing((charge) => ({ ...charge, key: charge.key.normalize() })),
    "no two odd keys share a counter",
  ],
  [
    "takes the part in braces for the key",
    changing((charge) => ({ ...charge, key: /\{(.+?)\}/.exec(charge.key)?.[1] ?? charge.key })),
    "no two odd keys share a counter",
  ],
  [
    "ends keys at NUL",
    changing((charge) => ({ ...charge, key: `${charge.key.split("\0")[0]}.` })),
    "no two odd keys share a counter",
  ],
  [
    "knows milliseconds only",
    faulty((store) => {
      const cut = (at?: number) => at && Math.floor(at / 1000) * 1000
      return { check: (charges, at) => store.check(charges, cut(at)) }
    }),
    "token-bucket: denied one microsecond before retryAfter, allowed at it",
  ],
  [
    "gives back more than was charged",
    faulty((store) => ({
      refund: async (charges, at) => {
        await store.reset(charges)
        await store.charge(
          charges.map((charge) => ({ ...charge, cost: 0 })),
          at,
        )
      },
    })),
    "token-bucket: a refund gives back at most what is charged",
  ],
  [
    "starts again when a limit changes",
    changing((charge) => ({
      ...charge,
      namespace: namespaceNamed(`${charge.namespace.name} ${charge.policy.limit} ${charge.policy.capacity}`),
    })),
    "token-bucket: a changed limit keeps what was charged",
  ],
  [
    "extends a block with every call",
    faulty((store) => ({
      check: async (charges, at) => {
        const outcome = await store.check(charges, at)
        const blocks = charges.filter((charge) => charge.policy.algorithm.name === "block")
        if (!outcome.allowed && blocks.length > 0)
          await store.charge(
            blocks.map((charge) => ({ ...charge, cost: 10_000_000 })),
            at,
          )
        return outcome
      },
    })),
    "calls while blocked neither extend the block nor charge anything",
  ],
  [
    "answers a list of checks out of order",
    faulty((store) => ({
      checkMany: async (checks: readonly Check[]) => (await store.checkMany([...checks].reverse())).reverse(),
    })),
    "checkMany answers in order, each check seeing those before it",
  ],
  [
    "forgets what it was told the time is",
    faulty((store) => ({ check: (charges) => store.check(charges) })),
    "fixed-window counts per window and starts anew exactly on the boundary",
  ],
  [
    "goes on after close",
    faulty(() => ({ close: async () => {} })),
    "every call after close fails with STORE_CLOSED",
  ],
]

describe("the contract catches a store that", () => {
  it.each(faults)("%s", async (_fault, open, caughtBy) => {
    expect(await failures(open)).toContain(caughtBy)
  })
})

it("passes a right store behind another object", async () => {
  expect(await failures(faulty(() => ({})))).toEqual([])
})

it("runs under node:test, and needs nothing that is not part of Node", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-contract-"))
  try {
    const entry = join(folder, "entry.mjs")
    const path = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))
    writeFileSync(
      entry,
      `import { describe, it } from "node:test"
      import { describeStoreContract } from ${path("../index.ts")}
      import { memoryStore } from ${path("../../index.ts")}
      describeStoreContract({ name: "memory", open: () => memoryStore(), describe, it })`,
    )
    const build = await rolldown({ input: entry, platform: "node" })
    const { output } = await build.write({
      codeSplitting: false,
      file: join(folder, "contract.test.mjs"),
      format: "esm",
    })
    await build.close()
    expect(output[0].imports.filter((name) => !name.startsWith("node:"))).toEqual([])
    // Not the settings of the runner around this one, which the inner one would take for its own.
    const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env
    const args = ["--test", "--test-reporter=tap", join(folder, "contract.test.mjs")]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    expect(stdout).toMatch(/^# fail 0$/m)
    expect(Number(/^# tests (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(200)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}, 30_000)
