import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest"
import { eventually } from "./eventually.js"
import { FaultProxy } from "./fault-proxy.js"
import { callRedis, RespConnection } from "./redis/resp-connection.js"
import { type RedisServer, startRedis } from "./redis/single.js"

let redis: RedisServer
let proxy: FaultProxy
const connections: RespConnection[] = []

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

beforeEach(async () => {
  await redis.cli("FLUSHALL")
  proxy = await FaultProxy.start(redis)
})
afterEach(async () => {
  for (const connection of connections.splice(0)) connection.close()
  await proxy.close()
  expect(proxy.stats.open).toBe(0)
})

async function open(timeoutMs = 2_000): Promise<RespConnection> {
  const connection = await RespConnection.open(proxy, { timeoutMs })
  connections.push(connection)
  return connection
}

/** The server behind the proxy has run the command, whether or not the client got the reply. */
function carriedOut(key: string): Promise<string> {
  return eventually(async () => {
    const value = await redis.cli("GET", key)
    return value === null ? undefined : String(value)
  })
}

it("passes bytes both ways and counts them", async () => {
  const value = "x".repeat(3_000_000)
  const connection = await open()
  expect(await connection.command("SET", "big", value)).toBe("OK")
  expect(await connection.command("GET", "big")).toBe(value)
  expect(proxy.stats).toMatchObject({ accepted: 1, open: 1 })
  expect(proxy.stats.requestBytes).toBe(proxy.stats.requestBytesForwarded)
  expect(proxy.stats.replyBytes).toBe("+OK\r\n".length + `$3000000\r\n${value}\r\n`.length)
  connection.close()
  await eventually(() => proxy.stats.open === 0)
})

it("delays replies, in order, and catches up when the delay is lifted", async () => {
  const connection = await open()
  proxy.delay(40, 20)
  const start = performance.now()
  const replies = await Promise.all(["a", "b", "c"].map((text) => connection.command("ECHO", text)))
  expect(replies).toEqual(["a", "b", "c"])
  expect(performance.now() - start).toBeGreaterThan(39)
  proxy.delay(60_000)
  const late = connection.command("ECHO", "late")
  await eventually(() => proxy.stats.replyBytes > proxy.stats.replyBytesForwarded)
  await proxy.pass()
  expect(await late).toBe("late")
})

it("drops replies of commands that were carried out, and never delivers later ones in their place", async () => {
  const connection = await open()
  proxy.dropReplies()
  const lost = connection.command("SET", "dropped", "yes")
  lost.catch(() => undefined)
  expect(await carriedOut("dropped")).toBe("yes")
  await eventually(() => proxy.stats.replyBytes === "+OK\r\n".length)
  await proxy.pass()
  const next = connection.command("PING")
  next.catch(() => undefined)
  await eventually(() => proxy.stats.replyBytes === "+OK\r\n+PONG\r\n".length)
  expect(proxy.stats.replyBytesForwarded).toBe(0)
  expect(await (await open()).command("PING")).toBe("PONG")
})

it("holds requests and lets them through later, even when the client has left", async () => {
  const connection = await open()
  proxy.setFlow({ requests: { kind: "hold" } })
  const held = connection.command("SET", "held", "late")
  held.catch(() => undefined)
  await eventually(() => proxy.stats.requestBytes > 0)
  connection.close()
  expect(await redis.cli("EXISTS", "held")).toBe(0)
  await proxy.pass()
  expect(await carriedOut("held")).toBe("late")
})

it("resets connections that exist and connections that are made", async () => {
  const connection = await open()
  const waiting = connection.command("BLPOP", "nothing", 0)
  proxy.reset()
  await expect(waiting).rejects.toMatchObject({ code: "ECONNRESET" })
  await expect(callRedis(proxy, ["PING"])).rejects.toThrow(/ECONNRESET|closed the connection/)
  await proxy.pass()
  expect(await callRedis(proxy, ["PING"])).toBe("PONG")
})

it("half-open accepts and swallows, and the target sees nothing", async () => {
  const before = await open()
  await before.command("PING")
  proxy.halfOpen()
  const after = await open(50)
  const silent = before.command("SET", "lost", "1")
  silent.catch(() => undefined)
  await expect(after.command("PING")).rejects.toThrow("did not answer")
  expect(await redis.cli("EXISTS", "lost")).toBe(0)
  await proxy.pass()
  expect(await callRedis(proxy, ["PING"])).toBe("PONG")
})

it("hides the death of the target from a half-open connection", async () => {
  const connection = await open(80)
  await connection.command("PING")
  proxy.halfOpen()
  await redis.restart()
  await expect(connection.command("PING")).rejects.toThrow("did not answer")
})

it("refuses connections and then listens on the same port again", async () => {
  const connection = await open()
  await proxy.refuse()
  await expect(connection.command("PING")).rejects.toThrow()
  await expect(callRedis(proxy, ["PING"])).rejects.toMatchObject({ code: "ECONNREFUSED" })
  await proxy.pass()
  expect(await callRedis(proxy, ["PING"])).toBe("PONG")
})

it("throttles replies to the given rate", async () => {
  const connection = await open()
  await connection.command("SET", "kilo", "x".repeat(1_000))
  proxy.throttle(10_000)
  const start = performance.now()
  await connection.command("GET", "kilo")
  const ms = performance.now() - start
  expect(ms).toBeGreaterThan(90)
  expect(ms).toBeLessThan(5_000)
})

it.each(["close", "reset", "silence"] as const)("cuts a reply in the middle and ends by %s", async (then) => {
  const connection = await open(80)
  proxy.cut(4, then)
  // Node reports an RST that arrives together with bytes as a plain end.
  const message = { close: /closed the/, reset: /ECONNRESET|closed the/, silence: /did not answer/ }[then]
  await expect(connection.command("PING")).rejects.toThrow(message)
  expect(proxy.stats.replyBytesForwarded).toBe(4)
})

it("resets clients when the target is down", async () => {
  await redis.kill()
  await expect(callRedis(proxy, ["PING"])).rejects.toThrow(/ECONNRESET|closed the connection/)
  await redis.restart()
  expect(await callRedis(proxy, ["PING"])).toBe("PONG")
})
