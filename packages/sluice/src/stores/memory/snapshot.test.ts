import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { SluiceError } from "../../errors.js"
import { createLimiter } from "../../limiter/limiter.js"
import { compilePolicy, type LimitOptions } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { type Charge, Namespace } from "../store.js"
import type { MemoryStoreOptions } from "./memory-options.js"
import { memoryStore } from "./memory-store.js"
import { fileSnapshot } from "./snapshot.js"

let folder: string
let path: string
let clock: ManualClock
let warnings: SluiceError[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-snapshot-"))
  path = join(folder, "counters.snapshot")
  clock = new ManualClock()
  warnings = []
})

afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true, force: true })
})

function open(options: MemoryStoreOptions = {}) {
  return memoryStore({
    snapshot: fileSnapshot(path),
    clock,
    onWarning: (warning) => warnings.push(warning),
    ...options,
  })
}

const variants: LimitOptions[] = [
  { algorithm: "fixed-window", limit: 10, window: "1m" },
  { algorithm: "fixed-window", limit: 10, window: "1m", anchor: "first-request" },
  { algorithm: "fixed-window", limit: 10, window: "hour", timeZone: "Asia/Kathmandu" },
  { algorithm: "sliding-window-log", limit: 10, window: "1m" },
  { algorithm: "sliding-window-counter", limit: 10, window: "1m" },
  { algorithm: "sliding-window-counter", limit: 10, window: "1m", buckets: 6 },
  { algorithm: "sliding-window-counter", limit: 2 ** 30, window: "1m" },
  { algorithm: "token-bucket", limit: 7, window: "1m", burst: 10 },
  { algorithm: "leaky-bucket", limit: 10, window: "1m" },
  { algorithm: "leaky-bucket", limit: 10, window: "1m", overflow: "queue" },
  { algorithm: "gcra", limit: 10, window: "1m", maxBurst: 9 },
]

/** Creates new objects each time, as after a restart: only the names are the same. */
function chargesOf(
  limit: LimitOptions,
  name = JSON.stringify(limit),
): (key: string, cost?: number) => Charge {
  const policy = compilePolicy(limit, "snapshot")
  const namespace = new Namespace(name)
  return (key, cost = 1) => ({ namespace, key, policy, cost })
}

describe("a store that is closed and opened again", () => {
  it("decides like a store that never stopped, for every algorithm", async () => {
    const going = memoryStore({ clock })
    let restarted = open()
    const step = (round: number) => {
      for (const [i, limit] of variants.entries()) {
        const charge = chargesOf(limit)
        for (let key = 0; key < 40; key++) {
          const charges = [charge(`key ${key}`, (key * 7 + round * 3 + i) % 5)]
          expect(restarted.checkSync(charges)).toEqual(going.checkSync(charges))
        }
        clock.advance(61.003)
      }
    }
    for (let round = 0; round < 40; round++) {
      step(round)
      if (round % 4 === 3) {
        await restarted.close()
        restarted = open()
      }
      clock.advance((round % 7) * 900)
    }
    expect(warnings).toEqual([])
  })

  it("keeps long logs and many keys", async () => {
    const store = open()
    const log = { algorithm: "sliding-window-log", limit: 5_000, window: "1h" } as const
    const counter = { limit: 100, window: "1h" } as const
    for (let i = 0; i < 3_000; i++) {
      store.checkSync([chargesOf(log)("busy")])
      clock.advance(0.5)
    }
    for (let i = 0; i < 20_000; i++) store.checkSync([chargesOf(counter)(`key ${i}`, 1 + (i % 100))])
    await store.close()
    const again = open()
    expect(again.stats.keys).toBe(20_001)
    expect(again.checkSync([chargesOf(log)("busy", 0)]).verdicts[0]?.remaining).toBe(2_000)
    const retryAfter = again.checkSync([chargesOf(log)("busy", 2_001)]).verdicts[0]?.retryAfter
    expect(retryAfter).toBe(3_600_000_000 - 3_000 * 500)
    for (let i = 0; i < 20_000; i++) {
      expect(again.checkSync([chargesOf(counter)(`key ${i}`, 0)]).verdicts[0]?.remaining).toBe(99 - (i % 100))
    }
  })

  it("keeps blocks", async () => {
    const options = { clock, limit: 5, window: "1m" } as const
    const store = open()
    const limiter = createLimiter({ ...options, store })
    await limiter.block("bad", "1h")
    await limiter.check("good", { cost: 2 })
    await store.close()
    clock.advance(1_000)
    const again = createLimiter({ ...options, store: open() })
    expect(await again.check("bad")).toMatchObject({
      allowed: false,
      deniedBy: "block",
      retryAfterMs: 3_599_000,
    })
    expect(await again.check("good")).toMatchObject({ allowed: true, remaining: 2 })
    clock.advance(3_599_000)
    expect((await again.check("bad")).allowed).toBe(true)
  })

  it("leaves out expired keys", async () => {
    const store = open()
    const charge = chargesOf({ algorithm: "fixed-window", limit: 10, window: "1m" })
    for (let i = 0; i < 1_000; i++) store.checkSync([charge(`key ${i}`)])
    clock.advance(60_000)
    store.checkSync([charge("new")])
    await store.close()
    const again = open()
    expect(again.stats.keys).toBe(1)
  })

  it("sweeps the loaded keys, and keeps those that a slow limit still counts", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    const slow = { algorithm: "token-bucket", limit: 10, window: "1h" } as const
    const fast = { algorithm: "token-bucket", limit: 1_000, window: "1s" } as const
    const store = open()
    store.checkSync([chargesOf(slow, "namespace")("key", 10)])
    // The last policy seen before the end is not the one that the key was charged under.
    store.checkSync([chargesOf(fast, "namespace")("other")])
    await store.close()
    const again = open()
    clock.advance(2_000)
    vi.advanceTimersByTime(2_000)
    expect(again.checkSync([chargesOf(slow, "namespace")("key")]).allowed).toBe(false)
    clock.advance(3_600_000)
    vi.advanceTimersByTime(2_000)
    expect(again.stats.keys).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  it("keeps the protected keys when there is room for fewer", async () => {
    const options = { clock, limit: 10, window: "1h" } as const
    const store = open()
    const limiter = createLimiter({ ...options, store })
    for (let i = 0; i < 900; i++) limiter.checkSync(`idle ${i}`)
    for (let i = 0; i < 50; i++) limiter.checkSync(`denied ${i}`, { cost: 10 })
    await limiter.block("bad", "1h")
    await store.close()
    const smaller = open({ maxKeys: 100 })
    const again = createLimiter({ ...options, store: smaller })
    expect(smaller.stats.keys).toBeLessThanOrEqual(100)
    expect(again.checkSync("bad").deniedBy).toBe("block")
    for (let i = 0; i < 50; i++) expect(again.checkSync(`denied ${i}`).allowed).toBe(false)
  })

  it("starts empty without a warning when there is no file yet", () => {
    expect(open().stats.keys).toBe(0)
    expect(warnings).toEqual([])
    expect(existsSync(path)).toBe(false)
  })
})

describe("the file", () => {
  it("is readable by its owner only, and nothing else is left in the folder", async () => {
    for (let i = 0; i < 3; i++) {
      const store = open()
      store.checkSync([chargesOf({ limit: 10, window: "1m" })(`key ${i}`)])
      await store.close()
      expect(readdirSync(folder)).toEqual(["counters.snapshot"])
      expect(statSync(path).mode & 0o777).toBe(0o600)
    }
  })

  it("is private even if an older one was not", async () => {
    writeFileSync(path, "", { mode: 0o644 })
    chmodSync(path, 0o644)
    const store = open()
    store.checkSync([chargesOf({ limit: 10, window: "1m" })("key")])
    await store.close()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it("holds no key in clear", async () => {
    const store = open()
    store.checkSync([chargesOf({ limit: 10, window: "1m" })("alice@example.org")])
    await store.close()
    expect(readFileSync(path, "latin1")).not.toContain("alice")
  })

  it("is replaced atomically", async () => {
    const store = open()
    store.checkSync([chargesOf({ limit: 10, window: "1m" })("key")])
    await store.close()
    const before = readFileSync(path)
    // A second life that cannot write: its folder has become a file's place. The old snapshot is untouched.
    const moved = join(folder, "kept")
    writeFileSync(moved, before)
    const blocked = memoryStore({
      snapshot: fileSnapshot(join(moved, "inside a file")),
      clock,
      onWarning: () => {},
    })
    blocked.checkSync([chargesOf({ limit: 10, window: "1m" })("key")])
    await expect(blocked.close()).rejects.toMatchObject({ name: "SluiceError", code: "SNAPSHOT_IO" })
    expect(readFileSync(moved)).toEqual(before)
  })
})

describe("a file that cannot be used", () => {
  const counter = { limit: 10, window: "1m" } as const

  async function save(keys = 20): Promise<Buffer> {
    const store = open()
    for (const limit of [counter, { ...counter, algorithm: "sliding-window-log" }] as const) {
      for (let i = 0; i < keys; i++) store.checkSync([chargesOf(limit)(`key ${i}`, 1 + (i % 10))])
    }
    await store.close()
    return readFileSync(path)
  }

  /** Opens a store on this content: it must be reported once, ignored, and in no one's way. */
  async function expectIgnored(content: Uint8Array | string, code = "SNAPSHOT_INVALID") {
    writeFileSync(path, content)
    warnings = []
    const store = open()
    expect(warnings.map((warning) => warning.code)).toEqual([code])
    expect(warnings[0]?.place).toBe(path)
    expect(store.stats.keys).toBe(0)
    expect(store.checkSync([chargesOf(counter)("key 3")]).verdicts[0]?.remaining).toBe(9)
    return store
  }

  it("is reported and ignored with any single bit flipped", async () => {
    const content = await save()
    let seed = 1
    for (let i = 0; i < 400; i++) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      const damaged = Buffer.from(content)
      // All of the head, where the meaning is dense, and places all over the rest.
      const at = i < 100 ? i : seed % content.length
      damaged[at] = (damaged[at] as number) ^ (1 << (seed >>> 29))
      await expectIgnored(damaged)
    }
  })

  it("is reported and ignored when cut short anywhere", async () => {
    const content = await save()
    for (let length = 0; length < content.length; length += length < 64 ? 1 : 37) {
      await expectIgnored(content.subarray(0, length))
    }
    await expectIgnored(content.subarray(0, content.length - 1))
  })

  it("is reported and ignored with anything behind it", async () => {
    const content = await save()
    await expectIgnored(Buffer.concat([content, Buffer.from([0])]))
    await expectIgnored(Buffer.concat([content, content]))
  })

  it("is reported and ignored when it is of another version, or something else", async () => {
    const content = await save()
    const body = content.subarray(0, -32)
    const other = Buffer.from(
      body.toString("latin1").replace(/^sluice-snapshot \d+/, "sluice-snapshot 99"),
      "latin1",
    )
    await expectIgnored(Buffer.concat([other, createHash("sha256").update(other).digest()]))
    await expectIgnored("{}\n")
    await expectIgnored("sluice-snapshot 2\n")
    await expectIgnored(Buffer.alloc(100_000))
  })

  it("is reported and ignored when its checksum is right and its meaning is not", async () => {
    const content = await save()
    const text = content.subarray(0, -32).toString("latin1")
    const magic = text.slice(0, text.indexOf("\n") + 1)
    const states = text.slice(text.indexOf("\n", magic.length) + 1)
    const headers = ["", "{", "null", "[]", "{}", '{"tables":[]}', '{"hashKey":[1,2,3,4],"tables":[{}]}']
    for (const header of headers) {
      const body = Buffer.from(`${magic}${header}\n${states}`, "latin1")
      await expectIgnored(Buffer.concat([body, createHash("sha256").update(body).digest()]))
    }
  })

  it("is replaced by a good one at the end", async () => {
    await save()
    const store = await expectIgnored("nonsense")
    await store.close()
    warnings = []
    expect(open().stats.keys).toBe(1)
    expect(warnings).toEqual([])
  })

  it("is reported as unreadable when it is a folder", async () => {
    mkdirSync(path)
    const store = open()
    expect(warnings).toMatchObject([{ code: "SNAPSHOT_IO", place: path }])
    expect(store.stats.keys).toBe(0)
  })

  it("is a process warning if there is no listener", async () => {
    writeFileSync(path, "nonsense")
    const emitted = vi.spyOn(process, "emitWarning").mockImplementation(() => {})
    try {
      memoryStore({ snapshot: fileSnapshot(path) })
      expect(emitted).toHaveBeenCalledOnce()
      expect(emitted).toHaveBeenCalledWith(expect.objectContaining({ code: "SNAPSHOT_INVALID" }))
    } finally {
      emitted.mockRestore()
    }
  })
})

describe("a place that cannot be written", () => {
  it.each(["missing folder", "a file for a folder"])("%s gives SNAPSHOT_IO on close", async (kind) => {
    const parent = join(folder, "parent")
    if (kind === "a file for a folder") writeFileSync(parent, "")
    const store = open({ snapshot: fileSnapshot(join(parent, "counters.snapshot")) })
    store.checkSync([chargesOf({ limit: 10, window: "1m" })("key")])
    await expect(store.close()).rejects.toMatchObject({
      code: "SNAPSHOT_IO",
      place: join(parent, "counters.snapshot"),
      cause: expect.any(Error),
    })
  })
})

it.each([undefined, "", 5, null])("a path of %o is refused", (wrong) => {
  expect(() => fileSnapshot(wrong as unknown as string)).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^OPTION_/), place: "fileSnapshot" }),
  )
})
