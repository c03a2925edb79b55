// Programs and libraries that were not written here, as their users have them.

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Redis } from "ioredis"
import { createClient } from "redis"
import { describe, expect, it, vi } from "vitest"
import { LOOPBACK } from "../../../../test/support/ports.js"
import { toolPath } from "../../../../test/support/tool.js"
import { start } from "./started.test-support.js"

// Each starts a program, or several.
vi.setConfig({ testTimeout: 30_000 })

const run = promisify(execFile)
const redisCli = toolPath("redis-cli")
const redisBenchmark = toolPath("redis-benchmark")

describe("redis-cli", () => {
  it.each([[[]], [["-3"]]])("asks with %j", async (options) => {
    const { port } = await start()
    const cli = async (...args: string[]) => {
      const { stdout } = await run(redisCli, ["-p", String(port), ...options, ...args])
      return stdout.trim().split("\n")
    }
    expect(await cli("CL.THROTTLE", "user123", "15", "30", "60")).toEqual(["0", "16", "15", "-1", "2"])
    expect(await cli("-n", "3", "CL.THROTTLE", "user123", "15", "30", "60")).toEqual([
      "0",
      "16",
      "15",
      "-1",
      "2",
    ])
    expect(await cli("SLUICE.CHECK", "api", "user:1")).toEqual(["0", "2", "1", "-1", "30"])
    expect(await cli("PING")).toEqual(["PONG"])
    expect((await cli("INFO"))[0]).toMatch(/^# Server/)
    expect((await cli("GET", "x"))[0]).toMatch(/^ERR unknown command 'GET'/)
    expect(await cli("COMMAND", "DOCS", "nothing")).toEqual([""])
  })

  it("logs in", async () => {
    const { port } = await start({ password: "secret" })
    const args = ["-p", String(port), "--no-auth-warning"]
    const { stdout } = await run(redisCli, [...args, "-a", "secret", "PING"])
    expect(stdout.trim()).toBe("PONG")
    const refused = await run(redisCli, [...args, "-a", "wrong", "PING"])
    expect(refused.stdout).toMatch(/^NOAUTH/)
    expect(refused.stderr).toMatch(/WRONGPASS/)
  })

  it("sends a file of commands at once", async () => {
    const { port } = await start()
    const piping = run(redisCli, ["-p", String(port), "--pipe"])
    piping.child.stdin?.end("CL.THROTTLE k 99 1 60\r\n".repeat(200))
    expect((await piping).stdout).toContain("errors: 0, replies: 200")
  })
})

describe("redis-benchmark", () => {
  it.each([["1"], ["16"]])("gets every reply at a pipeline of %s", async (pipeline) => {
    const { port, core, listener, counted } = await start()
    const args = ["-p", String(port), "-P", pipeline, "-c", "10", "-n", "2000", "-r", "100", "--csv"]
    const ask = ["CL.THROTTLE", "key:__rand_int__", "0", "1", "60"]
    const { stdout, stderr } = await run(redisBenchmark, [...args, ...ask])
    expect(stdout).toContain('"CL.THROTTLE')
    expect(stderr).not.toContain("WARNING")
    await listener.close(0)
    const [counts] = counted
    expect((counts?.allowed ?? 0) + (counts?.denied ?? 0)).toBe(2_000)
    // One of each key: there are a hundred.
    expect(counts?.allowed).toBeLessThanOrEqual(100)
    expect(core.decided).toEqual([])
  })
})

describe("ioredis", () => {
  it("asks one by one, in a pipeline and in another database, and logs in", async () => {
    const { port } = await start({ password: "secret" })
    const client = new Redis({ host: LOOPBACK, port, password: "secret", connectionName: "web", db: 2 })
    const elsewhere = new Redis({ host: LOOPBACK, port, username: "default", password: "secret" })
    try {
      expect(await client.call("CL.THROTTLE", "user123", 15, 30, 60)).toEqual([0, 16, 15, -1, 2])
      const pipeline = client.pipeline()
      for (let n = 0; n < 3; n++) pipeline.call("CL.THROTTLE", "user123", "15", "30", "60")
      expect((await pipeline.exec())?.map(([error, reply]) => [error, (reply as number[])[2]])).toEqual([
        [null, 14],
        [null, 13],
        [null, 12],
      ])
      expect(await elsewhere.call("CL.THROTTLE", "user123", 15, 30, 60)).toEqual([0, 16, 15, -1, 2])
      expect(await client.client("GETNAME")).toBe("web")
      await expect(client.call("CL.THROTTLE", "k")).rejects.toThrow("usage: cl.throttle")
      expect(await client.quit()).toBe("OK")
    } finally {
      client.disconnect()
      elsewhere.disconnect()
    }
  })

  it("receives the error for a wrong password", async () => {
    const { port } = await start({ password: "secret" })
    const client = new Redis({
      host: LOOPBACK,
      port,
      password: "wrong",
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    })
    const failure = new Promise<Error>((resolve) => client.on("error", resolve))
    expect((await failure).message).toMatch(/WRONGPASS/)
    client.disconnect()
  })
})

describe("node-redis", () => {
  it.each([[2], [3]] as const)("speaks RESP%d", async (protocol) => {
    const { port } = await start({ password: "secret" })
    const client = createClient({
      socket: { port },
      RESP: protocol,
      password: "secret",
      name: "web",
      database: 1,
    })
    client.on("error", () => {})
    await client.connect()
    try {
      const ask = ["CL.THROTTLE", "käse", "15", "30", "60"]
      expect(await client.sendCommand(ask)).toEqual([0, 16, 15, -1, 2])
      const replies = await Promise.all(Array.from({ length: 50 }, () => client.sendCommand<number[]>(ask)))
      expect(replies.filter(([limited]) => limited === 0)).toHaveLength(15)
      expect(await client.ping()).toBe("PONG")
      expect(await client.clientGetName()).toBe("web")
      expect(await client.sendCommand(["SLUICE.CHECK", "api", "user:1"])).toEqual([0, 2, 1, -1, 30])
      await expect(client.sendCommand(["GET", "x"])).rejects.toThrow("unknown command")
    } finally {
      client.destroy()
    }
  })
})
