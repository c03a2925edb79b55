import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { FailureKind } from "sluice/redis"
import { eventually } from "../support/eventually.js"
import { RespError } from "../support/redis/resp.js"
import type { Bed, BedOptions } from "./bed.js"

/** A fault of one server: how it starts and how it ends. */
export interface Fault {
  readonly name: string
  /** The failure kinds that the store must report: at least one of these, and no other except `breaker-open`. */
  readonly kinds: readonly FailureKind[]
  /** Whether calls are ambiguous: `never`, or at least `some`. */
  readonly ambiguous?: "never" | "some"
  /** Whether all counts are lost, so that every limit starts anew. */
  readonly loses?: boolean
  readonly bed?: BedOptions
  /** The store talks to the server through the proxy. */
  readonly proxied?: boolean
  /** Resolves when it is in effect. */
  strike(bed: Bed): Promise<void>
  /** Resolves when the server could serve again. */
  mend(bed: Bed): Promise<void>
}

/** Nothing listens on port 1 of loopback. */
const NO_PRIMARY = ["127.0.0.1", 1] as const
const LOADED_KEYS = 3_000

export const singleFaults: readonly Fault[] = [
  {
    name: "killed, and everything lost",
    kinds: ["connection"],
    loses: true,
    strike: ({ redis }) => redis.kill(),
    mend: ({ redis }) => redis.restart(),
  },
  {
    name: "connection refused",
    kinds: ["connection"],
    proxied: true,
    strike: ({ proxy }) => proxy.refuse(),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "connection reset",
    kinds: ["connection"],
    proxied: true,
    strike: async ({ proxy }) => proxy.reset(),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "cut off in the middle of a reply",
    kinds: ["connection"],
    ambiguous: "some",
    proxied: true,
    strike: async ({ proxy }) => proxy.cut(10, "reset"),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "frozen (SIGSTOP)",
    kinds: ["timeout", "connection"],
    ambiguous: "some",
    strike: ({ redis }) => redis.pause(),
    mend: async ({ redis }) => redis.resume(),
  },
  {
    name: "half-open",
    kinds: ["timeout", "connection"],
    ambiguous: "some",
    proxied: true,
    strike: async ({ proxy }) => proxy.halfOpen(),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "slow (500 ms)",
    kinds: ["timeout", "connection"],
    ambiguous: "some",
    proxied: true,
    strike: async ({ proxy }) => proxy.delay(500),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "replies dropped",
    kinds: ["timeout", "connection"],
    ambiguous: "some",
    proxied: true,
    strike: async ({ proxy }) => proxy.dropReplies(),
    mend: ({ proxy }) => proxy.pass(),
  },
  {
    name: "writes paused (CLIENT PAUSE)",
    kinds: ["timeout", "connection"],
    ambiguous: "some",
    strike: async ({ redis }) => void (await redis.cli("CLIENT", "PAUSE", 60_000, "WRITE")),
    mend: async ({ redis }) => void (await redis.cli("CLIENT", "UNPAUSE")),
  },
  {
    name: "READONLY",
    kinds: ["readonly", "connection"],
    strike: async ({ redis }) => void (await redis.cli("REPLICAOF", ...NO_PRIMARY)),
    mend: async ({ redis }) => void (await redis.cli("REPLICAOF", "NO", "ONE")),
  },
  {
    name: "MASTERDOWN",
    kinds: ["loading"],
    ambiguous: "never",
    bed: { config: { "replica-serve-stale-data": "no" } },
    strike: async ({ redis }) => void (await redis.cli("REPLICAOF", ...NO_PRIMARY)),
    mend: async ({ redis }) => void (await redis.cli("REPLICAOF", "NO", "ONE")),
  },
  {
    name: "LOADING",
    kinds: ["loading", "timeout", "connection"],
    // While loading, Redis reads its sockets after this many bytes; by default rarely.
    bed: { config: { "loading-process-events-interval-bytes": 1_024 } },
    async strike(bed) {
      await bed.control.command("DEBUG", "POPULATE", LOADED_KEYS, "filler", 64)
      await bed.control.command("CONFIG", "SET", "key-load-delay", 1_000)
      bed.control.command("DEBUG", "RELOAD").catch(() => undefined)
      await answersWith(bed, "LOADING")
    },
    async mend({ redis }) {
      await redis.cli("CONFIG", "SET", "key-load-delay", 0)
      await eventually(() => redis.cli("SET", "loaded", "1", "PX", 1_000), { what: "the data is loaded" })
      await redis.cli(
        "EVAL",
        "for _, key in ipairs(redis.call('KEYS', 'filler:*')) do redis.call('DEL', key) end",
        0,
      )
    },
  },
  {
    name: "OOM",
    kinds: ["out-of-memory"],
    ambiguous: "never",
    loses: true,
    async strike({ redis }) {
      await redis.cli("CONFIG", "SET", "maxmemory", 1)
      // Redis lets a script finish that starts with a command that frees memory, so existing keys can still be counted.
      await redis.cli("FLUSHALL")
    },
    mend: async ({ redis }) => void (await redis.cli("CONFIG", "SET", "maxmemory", 0)),
  },
  {
    name: "BUSY",
    kinds: ["busy", "timeout", "connection"],
    bed: { config: { "busy-reply-threshold": 1 } },
    async strike(bed) {
      bed.control.command("EVAL", "while true do end", 0).catch(() => undefined)
      await answersWith(bed, "BUSY")
    },
    mend: async ({ redis }) => void (await redis.cli("SCRIPT", "KILL")),
  },
  {
    name: "NOAUTH",
    kinds: ["no-auth", "connection"],
    async strike({ control }) {
      await control.command("CONFIG", "SET", "requirepass", "new")
      await control.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    },
    mend: async ({ control }) => void (await control.command("CONFIG", "SET", "requirepass", "")),
  },
  {
    name: "WRONGPASS",
    kinds: ["no-auth", "connection"],
    bed: { password: "old" },
    async strike({ control }) {
      await control.command("CONFIG", "SET", "requirepass", "new")
      await control.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    },
    mend: async ({ control }) => void (await control.command("CONFIG", "SET", "requirepass", "old")),
  },
  {
    name: "NOPERM to run scripts",
    kinds: ["no-permission"],
    ambiguous: "never",
    strike: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "-evalsha", "-eval")),
    mend: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "+@all")),
  },
  {
    name: "NOPERM inside the script",
    kinds: ["no-permission"],
    ambiguous: "never",
    strike: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "-mget")),
    mend: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "+@all")),
  },
  {
    name: "NOPERM for the keys",
    kinds: ["no-permission"],
    ambiguous: "never",
    strike: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "resetkeys")),
    mend: async ({ redis }) => void (await redis.cli("ACL", "SETUSER", "default", "~*")),
  },
  {
    name: "MISCONF (the last save failed)",
    kinds: ["not-writable"],
    ambiguous: "never",
    async strike({ redis }) {
      // A folder that is not empty blocks the file's name. Permissions would not stop root.
      mkdirSync(join(redis.dir, "dump.rdb"))
      writeFileSync(join(redis.dir, "dump.rdb", "in-the-way"), "")
      await redis.cli("CONFIG", "SET", "save", "3600 1")
      await redis.cli("BGSAVE")
      await answersWith({ redis }, "MISCONF")
    },
    async mend({ redis }) {
      rmSync(join(redis.dir, "dump.rdb"), { recursive: true })
      await redis.cli("BGSAVE")
      await eventually(() => redis.cli("SET", "saved", "1", "PX", 1_000), { what: "a save succeeds" })
    },
  },
  {
    name: "NOREPLICAS",
    kinds: ["not-writable"],
    ambiguous: "never",
    strike: async ({ redis }) => void (await redis.cli("CONFIG", "SET", "min-replicas-to-write", 1)),
    mend: async ({ redis }) => void (await redis.cli("CONFIG", "SET", "min-replicas-to-write", 0)),
  },
  {
    name: "too many clients (maxclients)",
    kinds: ["connection"],
    async strike({ control }) {
      await control.command("CONFIG", "SET", "maxclients", 1)
      await control.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    },
    mend: async ({ control }) => void (await control.command("CONFIG", "SET", "maxclients", 10_000)),
  },
]

export function faultNamed(name: string): Fault {
  const fault = singleFaults.find((candidate) => candidate.name === name)
  if (fault === undefined) throw new Error(`no fault is named ${name}`)
  return fault
}

/** Waits until a write is answered with this error. */
async function answersWith({ redis }: Pick<Bed, "redis">, code: string): Promise<void> {
  await eventually(
    () =>
      redis.cli("SET", "asked", "1", "PX", 1_000).then(
        () => false,
        (error: unknown) => error instanceof RespError && error.code === code,
      ),
    { every: 1, what: `the server says ${code}` },
  )
}
