import { SluiceError } from "../../errors.js"
import { warn } from "../../notify.js"
import type { CommandRunner } from "./fleet.js"

/** The oldest version that the scripts are tested on. KeyDB reports the Redis version it follows; Valkey and Dragonfly report a newer one. */
const MIN_VERSION = { major: 6, minor: 2 }

/** Emits a process warning when the server is too old for the scripts, or evicts keys and so loses counts. Never rejects. */
export async function warnAboutServer(redis: CommandRunner): Promise<void> {
  const [server, memory] = await Promise.all([infoOf(redis, "server"), infoOf(redis, "memory")])
  const version = /^redis_version:((\d+)\.(\d+)\S*)/m.exec(server)
  if (version !== null && isTooOld(Number(version[2]), Number(version[3]))) {
    warnOf(
      "REDIS_TOO_OLD",
      "needs Redis 6.2 or newer, or a compatible server: checks may fail on this one",
      version[1],
    )
  }
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? "noeviction"
  if (policy !== "noeviction") {
    warnOf("REDIS_EVICTS", "may lose counts: set maxmemory-policy to noeviction", policy)
  }
}

/** Empty when the server does not answer: the user may lack the permission. */
async function infoOf(redis: CommandRunner, section: string): Promise<string> {
  return String(await redis.command(undefined, ["INFO", section]).catch(() => ""))
}

function isTooOld(major: number, minor: number): boolean {
  return major < MIN_VERSION.major || (major === MIN_VERSION.major && minor < MIN_VERSION.minor)
}

function warnOf(code: "REDIS_TOO_OLD" | "REDIS_EVICTS", expected: string, found: string | undefined): void {
  warn(new SluiceError(code, { place: "redisStore", expected, found }))
}
