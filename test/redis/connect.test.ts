import { createLimiter } from "sluice"
import { connectRedis, type StoreFailureEvent } from "sluice/redis"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { reservePort } from "../support/ports.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { PATIENT } from "./contract.js"

const PASSWORD = "p@ss/w:rd%?#"
let server: RedisServer

beforeAll(async () => {
  server = await startRedis({ password: PASSWORD })
})
afterAll(() => server.stop())

/** One decision of a store by URL, with the messages of all failures. */
async function decideBy(url: string, deadline = "10s") {
  const told: string[] = []
  const onFailure = ({ failure }: StoreFailureEvent): void => {
    told.push(`${failure.kind} ${failure.message} ${failure.stack} ${String(failure.cause)}`)
  }
  const store = await connectRedis(url, { ...PATIENT, deadline, onFailure })
  const decision = await createLimiter({ store, prefix: "connect", limit: 5, window: "1h" }).check("user")
  await store.close()
  return { decision, told: told.join("\n") }
}

async function connections({ cli }: RedisServer): Promise<number> {
  return String(await cli("CLIENT", "LIST", "TYPE", "normal"))
    .trim()
    .split("\n").length
}

describe("connectRedis", () => {
  it("logs in with a password that has to be encoded", async () => {
    const { decision, told } = await decideBy(server.url)
    expect(told).toBe("")
    expect(decision).toMatchObject({ allowed: true, degraded: undefined })
  })

  it("logs in as a user", async () => {
    await server.cli("ACL", "SETUSER", "app", "on", ">secret", "~s1:*", "+@all")
    const { decision } = await decideBy(`redis://app:secret@${server.host}:${server.port}`)
    expect(decision).toMatchObject({ allowed: true, degraded: undefined })
  })

  it("counts in the database that was named", async () => {
    const connection = await server.connect()
    await connection.command("SELECT", 3)
    expect(await connection.command("DBSIZE")).toBe(0)
    await decideBy(`${server.url}/3`)
    expect(await connection.command("KEYS", "s1:connect:*")).toHaveLength(1)
    connection.close()
  })

  it.each(["redis", "redis+sentinel", "redis+cluster", "redis+ring"])(
    "decides locally while nothing answers at %s://, reports it, and shows no password",
    async (scheme) => {
      const { port, release } = await reservePort()
      const name = scheme === "redis+sentinel" ? "/main" : ""
      const { decision, told } = await decideBy(`${scheme}://app:hunter2@127.0.0.1:${port}${name}`, "50ms")
      expect(decision).toMatchObject({ allowed: true, degraded: "local" })
      expect(told).toMatch(/^(timeout|connection)/)
      expect(told).not.toContain("hunter2")
      await release()
    },
  )

  it("shows no password in the failure when the password is wrong", async () => {
    const { decision, told } = await decideBy(`redis://:hunter2@${server.host}:${server.port}`, "90ms")
    expect(decision).toMatchObject({ degraded: "local" })
    expect(told).not.toContain("hunter2")
  })

  it("refuses a URL it cannot read, without the password", async () => {
    await expect(connectRedis("redis://app:hunter2@host:x")).rejects.toMatchObject({
      code: "REDIS_URL_INVALID",
      message: expect.not.stringContaining("hunter2"),
    })
  })

  it.each([
    ["an option it does not know", "redis", "", { dedline: "1s" }, "OPTION_UNKNOWN"],
    ["an option of the wrong kind", "redis+ring", "", { deadline: "soon" }, "DURATION_INVALID"],
    ["a ring with the same node twice", "redis+ring", ",", {}, "OPTION_CONFLICT"],
  ])("refuses %s, and leaves no connection behind", async (_, scheme, twice, options, code) => {
    const { host, port } = server
    const login = `:${encodeURIComponent(PASSWORD)}@`
    const again = twice === "" ? "" : `,${host}:${port}`
    const url = `${scheme}://${login}${host}:${port}${again}`
    const before = await connections(server)
    await expect(connectRedis(url, options as object)).rejects.toMatchObject({ code })
    // A client that was not closed would be connected by now.
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await connections(server)).toBe(before)
  })
})
