import { expect } from "vitest"
import type { RedisServer } from "../support/redis/single.js"

/** Every key without an expiry. There must be none after any test. */
export async function keysWithoutExpiry(servers: readonly RedisServer[]): Promise<string[]> {
  const found = await Promise.all(servers.map(permanentKeys))
  return found.flat()
}

/** Trap 11: a key without a time to live. */
export async function expectOnlyExpiringKeys(servers: readonly RedisServer[]): Promise<void> {
  expect(await keysWithoutExpiry(servers)).toEqual([])
}

async function permanentKeys(server: RedisServer): Promise<string[]> {
  const connection = await server.connect({ encoding: "latin1" })
  try {
    const permanent: string[] = []
    // A replica of a Cluster redirects clients that have not sent READONLY.
    await connection.command("READONLY").catch(() => undefined)
    let cursor = "0"
    do {
      const reply = (await connection.command("SCAN", cursor, "COUNT", 1_000)) as [string, string[]]
      cursor = reply[0]
      const lives = await Promise.all(reply[1].map((key) => connection.command("PTTL", key)))
      permanent.push(...reply[1].filter((_, i) => lives[i] === -1))
    } while (cursor !== "0")
    return permanent
  } finally {
    connection.close()
  }
}
