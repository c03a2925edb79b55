import { type ClientReadableStream, status } from "@grpc/grpc-js"
import { afterEach, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { testCore } from "../core.test-support.js"
import { call, grpcClient } from "./grpc-client.test-support.js"
import { type EnvoyListener, startEnvoy } from "./start-envoy.js"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Health {
  readonly status: string
}

async function start() {
  const core = testCore("version: 1\nrules: []")
  const listener = await startEnvoy(core, { host: "127.0.0.1", port: 0 })
  const client = grpcClient(listener.address, "grpc/health/v1/health.proto", "grpc.health.v1.Health")
  cleanUps.push(
    () => core.close(),
    () => listener.close(0),
    () => client.close(),
  )
  return { listener, client }
}

type Client = Awaited<ReturnType<typeof start>>["client"]

/** What a watcher is told, as it comes. */
function watch(client: Client, service: string) {
  const seen: string[] = []
  const ended: unknown[] = []
  const run = client.Watch as unknown as (message: object) => ClientReadableStream<Health>
  const stream = run.call(client, { service })
  stream.on("data", (health: Health) => seen.push(health.status))
  stream.on("error", (error) => ended.push(error))
  cleanUps.push(() => stream.cancel())
  return { seen, ended }
}

const check = (client: Client, service: string) => call<Health>(client, "Check", { service })
const RATE_LIMIT = "envoy.service.ratelimit.v3.RateLimitService"

describe("the health service, asked by @grpc/grpc-js", () => {
  it("reports serving from the start until setServing(false)", async () => {
    const { listener, client } = await start()
    expect(await check(client, "")).toEqual({ status: "SERVING" })
    expect(await check(client, RATE_LIMIT)).toEqual({ status: "SERVING" })
    listener.setServing(false)
    expect(await check(client, "")).toEqual({ status: "NOT_SERVING" })
    listener.setServing(true)
    expect(await check(client, RATE_LIMIT)).toEqual({ status: "SERVING" })
  })

  it("answers NOT_FOUND for an unknown service", async () => {
    const { client } = await start()
    await expect(check(client, "no.such.Service")).rejects.toMatchObject({ code: status.NOT_FOUND })
  })

  it("sends a watcher the status, and again whenever it changes", async () => {
    const { listener, client } = await start()
    const { seen } = watch(client, RATE_LIMIT)
    await eventually(() => seen.length === 1)
    listener.setServing(false)
    listener.setServing(false)
    listener.setServing(true)
    await eventually(() => seen.length === 3)
    expect(seen).toEqual(["SERVING", "NOT_SERVING", "SERVING"])
  })

  it("allows watching an unknown service", async () => {
    const { client } = await start()
    const { seen, ended } = watch(client, "no.such.Service")
    await eventually(() => seen.length === 1)
    expect(seen).toEqual(["SERVICE_UNKNOWN"])
    expect(ended).toEqual([])
  })

  it("notifies watchers before it shuts down, and does not wait for them", async () => {
    const { listener, client } = await start()
    const { seen, ended } = watch(client, "")
    await eventually(() => seen.length === 1)
    await closeInTime(listener)
    await eventually(() => ended.length === 1)
    expect(seen).toEqual(["SERVING", "NOT_SERVING"])
    expect(ended).toMatchObject([{ code: status.UNAVAILABLE }])
  })
})

async function closeInTime(listener: EnvoyListener): Promise<void> {
  const started = performance.now()
  await listener.close(20_000)
  expect(performance.now() - started).toBeLessThan(10_000)
}
