import { SluiceError } from "../../errors.js"
import type { HeartbeatLane } from "./heartbeat.js"

/** The oldest version that the scripts are tested on. KeyDB tells the version of Redis it is like, Valkey and Dragonfly a newer one. */
const OLDEST = { major: 6, minor: 2 }

/** Says once at the start what would otherwise show in silence: counts that are lost, or checks that degrade. */
export async function warnOfServer(lane: HeartbeatLane): Promise<void> {
  const [server, memory] = await Promise.all([infoOf(lane, "server"), infoOf(lane, "memory")])
  const version = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(server)
  if (version !== null && isOlder(Number(version[2]), Number(version[3]))) {
    warn(
      "REDIS_TOO_OLD",
      "needs a server like Redis 6.2 or newer: checks on this one may degrade",
      version[1],
    )
  }
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? "noeviction"
  if (policy !== "noeviction") {
    warn("REDIS_EVICTS", "may lose counts: set maxmemory-policy to noeviction", policy)
  }
}

/** Empty when the server does not tell: a user may have no right to ask. */
async function infoOf(lane: HeartbeatLane, section: string): Promise<string> {
  return String(await lane.command(undefined, ["INFO", section]).catch(() => ""))
}

function isOlder(major: number, minor: number): boolean {
  return major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)
}

function warn(code: "REDIS_TOO_OLD" | "REDIS_EVICTS", expected: string, found: string | undefined): void {
  process.emitWarning(new SluiceError(code, { place: "redisStore", expected, found }))
}
