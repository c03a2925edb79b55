import { once } from "node:events"
import { createServer } from "node:net"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { reservePort } from "../../../../test/support/ports.js"
import { startCluster } from "../../../../test/support/redis/cluster.js"
import { startSentinel } from "../../../../test/support/redis/sentinel.js"
import { type RedisServer, startRedis } from "../../../../test/support/redis/single.js"
import {
  buildCli,
  type Folder,
  killAll,
  sluice,
  sluiceHere,
  sluiceJson,
  startServiceHere,
  temporaryFolder,
} from "../cli.test-support.js"
import type { Finding } from "./doctor/finding.js"
import { clockFinding, distanceFinding, infoFindings } from "./doctor/redis-server.js"
import { nodeFinding } from "./doctor/settings.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let folder: Folder
let servers: RedisServer[] = []

beforeAll(buildCli, 60_000)

beforeEach(() => {
  folder = temporaryFolder()
})

afterEach(async () => {
  await killAll()
  folder.remove()
  await Promise.all(servers.map((server) => server.stop()))
  servers = []
})

async function redis(config = {}): Promise<RedisServer> {
  const server = await startRedis({ config })
  servers.push(server)
  return server
}

/** Ports of nobody, so that only what a test is about is wrong. */
const PORTS = "http: { port: 0 }\ngrpc: { port: 0 }\ncontrol: { port: 0 }\n"

async function examine(
  config: string,
  args: readonly string[] = [],
  run = sluiceHere,
): Promise<{ found: Finding[]; code: number | null }> {
  const file = folder.write("sluice.config.yaml", PORTS + config)
  const { code, stdout } = await run(["doctor", "--config", file, "--json", ...args])
  return { code, found: JSON.parse(stdout) as Finding[] }
}

const about = (found: readonly Finding[], name: string) =>
  found.find((finding) => finding.about.endsWith(name))
const problems = (found: readonly Finding[]) => found.filter(({ status }) => status === "problem")

describe("on a Redis that will do", () => {
  it("finds nothing wrong, leaves nothing behind, and ends with 0", async () => {
    const server = await redis()
    const { code, found } = await examine(`store: { url: "${server.url}" }\n`, [], sluice)
    expect([code, problems(found)]).toEqual([0, []])
    expect(about(found, "redis store")?.status).toBe("fine")
    expect(about(found, "version")?.message).toMatch(/^(Valkey )?\d+\.\d+/)
    expect(about(found, "clock")?.status).toBe("fine")
    expect(await server.cli("KEYS", "*doctor*")).toEqual([])
  })

  it("needs no more rights than the docs say", async () => {
    const server = await redis()
    const rights =
      "+evalsha +eval +unlink +time +mget +set +exists +pexpire +pttl +del +zadd +zcard +zrange +zrangebyscore +zrank +zrem +zremrangebyscore +info"
    await server.cli("ACL", "SETUSER", "sluice", "on", ">pw", "~s1:*", ...rights.split(" "))
    const { code, found } = await examine("", ["--store", `redis://sluice:pw@127.0.0.1:${server.port}`])
    expect([code, problems(found)]).toEqual([0, []])
  })
})

describe("where there are several servers", () => {
  const namesOf = (found: readonly Finding[]) =>
    found.flatMap(({ about }) => /^redis (\S+) role$/.exec(about)?.[1] ?? []).sort()

  it("looks at every primary of a Cluster", async () => {
    const cluster = await startCluster({ replicasPerPrimary: 0 })
    const { code, found } = await examine("", ["--store", cluster.url]).finally(() => cluster.stop())
    expect([code, problems(found)]).toEqual([0, []])
    expect(namesOf(found)).toEqual(cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).sort())
  })

  it("looks at the primary that Sentinel names", async () => {
    const sentinel = await startSentinel({ replicas: 1 })
    const primary = await sentinel.primary()
    const { code, found } = await examine("", ["--store", sentinel.url]).finally(() => sentinel.stop())
    expect([code, problems(found)]).toEqual([0, []])
    expect(namesOf(found)).toEqual([`127.0.0.1:${primary.port}`])
  })
})

describe("says what to do about", () => {
  it("a Redis that drops counters", async () => {
    const server = await redis({ maxmemory: "100mb", "maxmemory-policy": "allkeys-lru" })
    const { code, found } = await examine("", ["--store", server.url])
    expect(code).toBe(1)
    expect(about(found, "eviction")).toMatchObject({
      status: "problem",
      fix: "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf.",
    })
  })

  it("a user that may not run scripts, and what it lacks", async () => {
    const server = await redis()
    await server.cli("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+info", "+time")
    const { code, found } = await examine("", ["--store", `redis://weak:pw@127.0.0.1:${server.port}`])
    expect(code).toBe(1)
    expect(about(found, "redis store")?.message).toContain("NOPERM")
    expect(about(found, "redis store")?.fix).toContain("ACL SETUSER <user> ~s1:* +evalsha")
  })

  it("a wrong password, which it does not show", async () => {
    const server = await redis()
    const { code, stdout } = await sluice(
      ["doctor", "--store", `redis://me:hunter2@127.0.0.1:${server.port}`],
      { cwd: folder.path },
    )
    expect(code).toBe(1)
    expect(stdout).toContain("WRONGPASS")
    expect(stdout).toContain("→ Put the right user and password into the URL")
    expect(stdout).not.toContain("hunter2")
  })

  it("a Redis that is not there, and one of a ring that is not", async () => {
    const nobody = await reservePort()
    const server = await redis()
    const alone = await examine("", ["--store", `redis://127.0.0.1:${nobody.port}`])
    const ring = await examine("", [
      "--store",
      `redis+ring://127.0.0.1:${server.port},127.0.0.1:${nobody.port}`,
    ])
    await nobody.release()
    for (const { code, found } of [alone, ring]) {
      expect(code).toBe(1)
      expect(problems(found)).toHaveLength(1)
      expect(problems(found)[0]?.message).toContain("ECONNREFUSED")
    }
  })

  it("a clock that is an hour off", async () => {
    const server = await redis()
    const ahead = "--import=data:text/javascript,const/**/now=Date.now;Date.now=()=>now()+3_600_000"
    const { stdout } = await sluice(["doctor", "--store", server.url, "--json"], {
      env: { NODE_OPTIONS: ahead },
      cwd: folder.path,
    })
    const clock = about(JSON.parse(stdout) as Finding[], "clock")
    expect(clock).toMatchObject({ status: "warning", fix: "Set both clocks by NTP." })
    expect(clock?.message).toMatch(/^3(600|599)\.\d s behind this machine's/)
  })

  it("a replica", async () => {
    const primary = await redis()
    const replica = await redis({ replicaof: `127.0.0.1 ${primary.port}` })
    const { found } = await examine("", ["--store", replica.url])
    expect(about(found, "role")).toMatchObject({ status: "problem" })
  })

  it("every mistake in the configuration", async () => {
    const { code, found } = await examine("htp: {}\nworkers: 0\n")
    expect(code).toBe(1)
    const messages = problems(found).map(({ message }) => message)
    expect(messages).toHaveLength(2)
    expect(messages[0]).toMatch(/sluice\.config\.yaml:5:1 workers must be at least 1, got 0$/)
    expect(messages[1]).toMatch(/sluice\.config\.yaml:4:1 htp does not exist; did you mean http\?$/)
  })

  it("rules with mistakes, and rules that are not there", async () => {
    const rules = folder.write(
      "rules.yaml",
      "version: 1\nrules:\n  - { id: a, limits: [{ limit: 0, window: 1m }] }\n",
    )
    const bad = await examine("", ["--rules", rules])
    expect(about(bad.found, "rules")).toMatchObject({ status: "problem" })
    expect(about(bad.found, "rules")?.message).toContain("limits[0].limit must be an integer ≥ 1, got 0")
    const missing = await examine("", ["--rules", "/no/such/file"])
    expect(about(missing.found, "rules")?.message).toBe("/no/such/file cannot be read (ENOENT)")
  })

  it("a control plane that everybody could reach", async () => {
    const { code, found } = await examine("")
    expect([code, about(found, "control plane")?.status]).toEqual([0, "fine"])
    const open = folder.write(
      "open.yaml",
      "control: { host: 0.0.0.0, port: 0 }\nhttp: { port: 0 }\ngrpc: { port: 0 }\n",
    )
    const exposed = JSON.parse((await sluiceHere(["doctor", "--config", open, "--json"])).stdout) as Finding[]
    expect(about(exposed, "control plane")?.message).toContain("[LISTEN_UNSAFE]")
    const proxied = folder.write("proxied.yaml", `${PORTS.replace("control: {", "control: { open: true,")}`)
    const found2 = JSON.parse(
      (await sluiceHere(["doctor", "--config", proxied, "--json"])).stdout,
    ) as Finding[]
    expect(about(found2, "control plane")?.status).toBe("warning")
  })

  it("a port that is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    const file = folder.write("c.yaml", `http: { port: ${port} }\ngrpc: { port: 0 }\ncontrol: { port: 0 }\n`)
    const found = await sluiceJson<Finding[]>(["doctor", "--config", file], {}, sluiceHere)
    server.close()
    expect(about(found, "port of http")?.message).toBe(`127.0.0.1:${port} cannot be used (EADDRINUSE)`)
  })
})

describe("of a service", () => {
  it("says that it is ready, or that nobody is where one was asked for", async () => {
    const { env } = await startServiceHere()
    const found = await sluiceJson<Finding[]>(["doctor"], { env, cwd: folder.path })
    expect(about(found, "service")).toMatchObject({
      status: "fine",
      message: `${env.SLUICE_URL} is ready, revision 1`,
    })
    expect(about(found, "service version")?.status).toBe("fine")
    const nobody = await sluice(["doctor", "--url", "http://127.0.0.1:2"], { cwd: folder.path })
    expect(nobody.code).toBe(1)
    expect(nobody.stdout).toContain("✗ problem service: http://127.0.0.1:2: does not answer")
  })
})

describe("what it holds against a server", () => {
  const info = "redis_version:7.2.4\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
  const statuses = (text: string) => infoFindings("redis x", text).map(({ status }) => status)

  it("is an old version, and not that of Valkey", () => {
    expect(statuses(info)).toEqual(["fine", "fine", "fine"])
    expect(statuses(info.replace("7.2.4", "6.2.7"))).toEqual(["problem", "fine", "fine"])
    const [valkey] = infoFindings("redis x", `${info}valkey_version:8.0.1\r\n`)
    expect(valkey?.message).toBe("Valkey 8.0.1")
  })

  it("is eviction: a warning as long as there is no bound on its memory", () => {
    const lru = info.replace("noeviction", "volatile-lru")
    expect(statuses(lru)[2]).toBe("warning")
    expect(statuses(lru.replace("maxmemory:0", "maxmemory:1000000"))[2]).toBe("problem")
  })

  it("is a clock more than a second off, either way", () => {
    expect([-1_000, 1_000].map((skew) => clockFinding("r", skew).status)).toEqual(["fine", "fine"])
    expect([-1_001, 1_001].map((skew) => clockFinding("r", skew).status)).toEqual(["warning", "warning"])
    expect(clockFinding("r", -90_000).message).toMatch(/^90\.0 s behind this machine's/)
  })

  it("is a distance that comes near the deadline of a decision", () => {
    expect([1, 25, 50].map((ms) => distanceFinding("r", ms).status)).toEqual(["fine", "warning", "problem"])
  })

  it("is an old Node", () => {
    expect(["18.20.0", "20.18.9", "20.19.0", "24.0.0"].map((version) => nodeFinding(version).status)).toEqual(
      ["problem", "problem", "fine", "fine"],
    )
  })
})
