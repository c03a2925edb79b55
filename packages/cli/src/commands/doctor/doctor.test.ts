import { once } from "node:events"
import { createServer } from "node:net"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { reservePort } from "../../../../../test/support/ports.js"
import { startCluster } from "../../../../../test/support/redis/cluster.js"
import { startSentinel } from "../../../../../test/support/redis/sentinel.js"
import { type RedisServer, startRedis } from "../../../../../test/support/redis/single.js"
import {
  buildCli,
  type Folder,
  killAll,
  sluice,
  sluiceHere,
  sluiceJson,
  startServiceHere,
  temporaryFolder,
} from "../../cli.test-support.js"
import type { Finding } from "./finding.js"
import { clockFinding, infoFindings, latencyFinding } from "./redis-server.js"
import { nodeFinding } from "./settings.js"

// Each test starts processes, which takes long on a busy machine.
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

/** Free ports, so that no test fails because a port is in use. */
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

describe("on a suitable Redis", () => {
  it("finds no problem, leaves no keys behind, and exits with 0", async () => {
    const server = await redis()
    const { code, found } = await examine(`store: { url: "${server.url}" }\n`, [], sluice)
    expect([code, problems(found)]).toEqual([0, []])
    expect(about(found, "redis store")?.status).toBe("fine")
    expect(about(found, "version")?.message).toMatch(/^(Valkey )?\d+\.\d+/)
    expect(about(found, "clock")?.status).toBe("fine")
    expect(await server.cli("KEYS", "*doctor*")).toEqual([])
  })

  it("needs no more permissions than the docs list", async () => {
    const server = await redis()
    const rights =
      "+evalsha +eval +unlink +time +mget +set +exists +pexpire +pttl +del +zadd +zcard +zcount +zincrby +zrange +zrangebyscore +zrank +zrem +zremrangebyscore +zscore +info"
    await server.cli("ACL", "SETUSER", "sluice", "on", ">pw", "~s1:*", ...rights.split(" "))
    const { code, found } = await examine("", ["--store", `redis://sluice:pw@127.0.0.1:${server.port}`])
    expect([code, problems(found)]).toEqual([0, []])
  })
})

describe("with several servers", () => {
  const namesOf = (found: readonly Finding[]) =>
    found.flatMap(({ about }) => /^redis (\S+) role$/.exec(about)?.[1] ?? []).sort()

  it("checks every primary of a Cluster", async () => {
    const cluster = await startCluster({ replicasPerPrimary: 0 })
    const { code, found } = await examine("", ["--store", cluster.url]).finally(() => cluster.stop())
    expect([code, problems(found)]).toEqual([0, []])
    expect(namesOf(found)).toEqual(cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).sort())
  })

  it("checks the primary that Sentinel names", async () => {
    const sentinel = await startSentinel({ replicas: 1 })
    const primary = await sentinel.primary()
    const { code, found } = await examine("", ["--store", sentinel.url]).finally(() => sentinel.stop())
    expect([code, problems(found)]).toEqual([0, []])
    expect(namesOf(found)).toEqual([`127.0.0.1:${primary.port}`])
  })
})

describe("suggests a fix for", () => {
  it("a Redis that evicts counters", async () => {
    const server = await redis({ maxmemory: "100mb", "maxmemory-policy": "allkeys-lru" })
    const { code, found } = await examine("", ["--store", server.url])
    expect(code).toBe(1)
    expect(about(found, "eviction")).toMatchObject({
      status: "problem",
      fix: "Run CONFIG SET maxmemory-policy noeviction, and set it in redis.conf.",
    })
  })

  it("a user without permission to run scripts, with the permissions it lacks", async () => {
    const server = await redis()
    await server.cli("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+info", "+time")
    const { code, found } = await examine("", ["--store", `redis://weak:pw@127.0.0.1:${server.port}`])
    expect(code).toBe(1)
    expect(about(found, "redis store")?.message).toContain("NOPERM")
    expect(about(found, "redis store")?.fix).toContain("ACL SETUSER <user> ~s1:* +evalsha")
  })

  it("a wrong password, without showing it", async () => {
    const server = await redis()
    const { code, stdout } = await sluice(
      ["doctor", "--store", `redis://me:hunter2@127.0.0.1:${server.port}`],
      { cwd: folder.path },
    )
    expect(code).toBe(1)
    expect(stdout).toContain("WRONGPASS")
    expect(stdout).toContain("→ Put the correct user and password into the URL")
    expect(stdout).not.toContain("hunter2")
  })

  it("an unreachable Redis, alone or in a ring", async () => {
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
    expect(clock).toMatchObject({ status: "warning", fix: "Synchronize both clocks with NTP." })
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

  it("rules with mistakes, and a missing rules file", async () => {
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

  it("a control plane that everybody can reach", async () => {
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

  it("a port that is in use", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as { port: number }
    const file = folder.write("c.yaml", `http: { port: ${port} }\ngrpc: { port: 0 }\ncontrol: { port: 0 }\n`)
    const found = await sluiceJson<Finding[]>(["doctor", "--config", file], {}, sluiceHere)
    server.close()
    expect(about(found, "http port")?.message).toBe(`127.0.0.1:${port} cannot be used (EADDRINUSE)`)
  })
})

describe("a service", () => {
  it("is reported as ready, or as a problem if it was named and does not answer", async () => {
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

describe("a server", () => {
  const info = "redis_version:7.2.4\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
  const statuses = (text: string) => infoFindings("redis x", text).map(({ status }) => status)

  it("must have a recent version of Redis or Valkey", () => {
    expect(statuses(info)).toEqual(["fine", "fine", "fine"])
    expect(statuses(info.replace("7.2.4", "6.2.7"))).toEqual(["problem", "fine", "fine"])
    const [valkey] = infoFindings("redis x", `${info}valkey_version:8.0.1\r\n`)
    expect(valkey?.message).toBe("Valkey 8.0.1")
  })

  it("must not evict keys, which is only a warning while its memory has no limit", () => {
    const lru = info.replace("noeviction", "volatile-lru")
    expect(statuses(lru)[2]).toBe("warning")
    expect(statuses(lru.replace("maxmemory:0", "maxmemory:1000000"))[2]).toBe("problem")
  })

  it("may have a clock that is up to a second off", () => {
    expect([-1_000, 1_000].map((skew) => clockFinding("r", skew).status)).toEqual(["fine", "fine"])
    expect([-1_001, 1_001].map((skew) => clockFinding("r", skew).status)).toEqual(["warning", "warning"])
    expect(clockFinding("r", -90_000).message).toMatch(/^90\.0 s behind this machine's/)
  })

  it("must answer within the deadline of a decision", () => {
    expect([1, 25, 50].map((ms) => latencyFinding("r", ms).status)).toEqual(["fine", "warning", "problem"])
  })
})

it("an old Node is a problem", () => {
  expect(["18.20.0", "20.18.9", "20.19.0", "24.0.0"].map((version) => nodeFinding(version).status)).toEqual([
    "problem",
    "problem",
    "fine",
    "fine",
  ])
})
