// The files of compose.yaml through a fail-over, on real servers.

import { parseRuleSet } from "sluice/rules"
import { afterEach, expect, it } from "vitest"
import { configSchema } from "../../packages/server/src/config/schema.js"
import { type Service, startService } from "../../packages/server/src/service/service.js"
import { eventually } from "../support/eventually.js"
import { ComposeOnLoopback } from "./compose-on-loopback.js"
import { deployText, deployYaml } from "./deploy-files.js"

const compose = await ComposeOnLoopback.open()
let service: Service | undefined

afterEach(async () => {
  await service?.close()
  await compose.stop()
})

it("continues with another primary when the first is killed, and the first follows it after its return", async () => {
  await compose.start()
  for (const name of ["sentinel-1", "sentinel-2", "sentinel-3"])
    await eventually(() => seesAll(name), { within: 30_000, every: 100, what: `${name} sees all others` })
  service = await startService(config())
  await eventually(isShared, { within: 10_000, what: "a decision is shared" })

  await compose.kill("redis-1")
  const primary = await eventually(newPrimary, { within: 20_000, what: "another is primary" })
  await eventually(isShared, { within: 10_000, what: "a decision is shared again" })

  compose.run("redis-1")
  await eventually(async () => (await replication("redis-1")).includes("role:slave"), {
    within: 20_000,
    what: "the first one follows",
  })

  // A container that is started again must not go back to how it was made.
  await compose.kill(primary)
  compose.run(primary)
  expect(await eventually(() => replication(primary), { what: "it is back" })).toContain("role:master")
}, 90_000)

function config() {
  const { store } = deployYaml<{ store: { url: string } }>("compose/sluice.config.yaml")
  return configSchema.parse({
    http: { port: 0 },
    grpc: { enabled: false },
    control: { enabled: false },
    log: { level: "silent" },
    store: { url: compose.translated(store.url) },
    rules: { inline: parseRuleSet(deployText("compose/rules.yaml")) },
  })
}

/** Like the health check of compose.yaml, and also for both replicas: Sentinel cannot promote one that it does not know. */
async function seesAll(sentinel: string): Promise<boolean> {
  const quorum = String(await compose.ask(sentinel, "SENTINEL", "CKQUORUM", "main"))
  const facts = (await compose.ask(sentinel, "SENTINEL", "MASTER", "main")) as string[]
  return quorum.startsWith("OK 3") && facts[facts.indexOf("num-slaves") + 1] === "2"
}

async function isShared(): Promise<boolean> {
  const question = { method: "POST", path: "/login", ip: "203.0.113.7" }
  const url = `http://${service?.addresses.http}/v1/check`
  const response = await fetch(url, { method: "POST", body: JSON.stringify(question) })
  const decision = (await response.json()) as { allowed: boolean; degraded?: string }
  return typeof decision.allowed === "boolean" && decision.degraded === undefined
}

async function newPrimary(): Promise<string | undefined> {
  const [, port] = (await compose.ask(
    "sentinel-1",
    "SENTINEL",
    "GET-MASTER-ADDR-BY-NAME",
    "main",
  )) as string[]
  return ["redis-2", "redis-3"].find((name) => compose.port(name) === Number(port))
}

async function replication(name: string): Promise<string> {
  return String(await compose.ask(name, "INFO", "replication"))
}
