import { existsSync, statSync } from "node:fs"
import { afterEach, describe, expect, it, vi } from "vitest"
import { isAlive } from "../process-state.js"
import { sandboxRoot } from "../sandbox.js"
import { RedisProcess } from "./process.js"
import { callRedis } from "./resp-connection.js"
import { type RedisOptions, type RedisServer, startRedis } from "./single.js"

let server: RedisServer

async function start(options?: RedisOptions): Promise<RedisServer> {
  server = await startRedis(options)
  return server
}

afterEach(() => server.stop())

it("answers, in a directory that nobody else may enter", async () => {
  const { cli, dir, url, port } = await start()
  expect(await cli("SET", "key", "ü")).toBe("OK")
  expect(await cli("GET", "key")).toBe("ü")
  expect(url).toBe(`redis://127.0.0.1:${port}`)
  expect(statSync(dir).mode & 0o077).toBe(0)
})

it("leaves no process and no directory after stop, and can be stopped twice", async () => {
  const { pid, dir, stop } = await start()
  await stop()
  await stop()
  expect(isAlive(pid ?? 0)).toBe(false)
  expect(existsSync(dir)).toBe(false)
  expect(sandboxRoot()).toBeUndefined()
})

it("comes back empty on the same port after kill and restart", async () => {
  const { cli, kill, restart } = await start()
  await cli("SET", "key", "value")
  await kill()
  expect(server.running).toBe(false)
  await expect(cli("PING")).rejects.toMatchObject({ code: "ECONNREFUSED" })
  await restart()
  expect(await cli("EXISTS", "key")).toBe(0)
})

it("accepts connections but does not answer while paused", async () => {
  const { connect, pause, resume, cli } = await start()
  await pause()
  const connection = await connect({ timeoutMs: 50 })
  await expect(connection.command("PING")).rejects.toThrow("did not answer PING within 50 ms")
  resume()
  expect(await cli("PING")).toBe("PONG")
})

it("can be stopped while paused", async () => {
  const { pause, stop } = await start()
  await pause()
  await stop()
  expect(server.running).toBe(false)
})

it("notices when the server dies by itself", async () => {
  const { cli, restart } = await start()
  await expect(cli("SHUTDOWN", "NOSAVE")).rejects.toThrow("closed the connection")
  await restart()
  expect(await cli("PING")).toBe("PONG")
})

describe("options", () => {
  it("pass directives on, and override the defaults", async () => {
    const { cli } = await start({ config: { appendonly: "yes", maxclients: 77 } })
    expect(await cli("CONFIG", "GET", "maxclients")).toEqual(["maxclients", "77"])
    expect(await cli("CONFIG", "GET", "appendonly")).toEqual(["appendonly", "yes"])
    expect(await cli("CONFIG", "GET", "save")).toEqual(["save", ""])
  })

  it("set a password that cli uses and a stranger lacks", async () => {
    const { cli, url, host, port } = await start({ password: 'p@ss "word"' })
    expect(await cli("PING")).toBe("PONG")
    expect(url).toBe(`redis://:p%40ss%20%22word%22@${host}:${port}`)
    await expect(callRedis({ host, port }, ["GET", "x"])).rejects.toMatchObject({ code: "NOAUTH" })
  })

  it("that the server refuses show its own words, and nothing is left", async () => {
    await expect(startRedis({ config: { "no-such-directive": "1" } })).rejects.toThrow(/Bad directive/)
    expect(sandboxRoot()).toBeUndefined()
  })
})

it("does not take another server on its port for its own", async () => {
  const { port } = await start()
  const late = new RedisProcess({ port, release: () => Promise.resolve() }, {})
  await expect(late.start()).rejects.toThrow(/exit code 1; its log:.*Address already in use/s)
  await late.stop()
})

it("says which binary cannot be started", async () => {
  await start()
  vi.stubEnv("SLUICE_REDIS_SERVER", "/no/such/redis-server")
  await expect(startRedis()).rejects.toThrow("spawn /no/such/redis-server ENOENT")
  vi.unstubAllEnvs()
})
