import { once } from "node:events"
import { Agent, type IncomingMessage, request } from "node:http"
import { text } from "node:stream/consumers"
import { beforeAll, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"
import { buildServer } from "../support/service-process.js"
import { afterThis, openBackend } from "./bed.js"
import { type Supervised, superviseGateway } from "./supervisor.js"
import { loadWithWrk } from "./wrk.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 120_000 })

beforeAll(buildServer, 60_000)

async function supervise(
  backend: { readonly port: number },
  args: readonly string[] = [],
): Promise<Supervised> {
  const upstream = `http://${LOOPBACK}:${backend.port}`
  const gateway = await superviseGateway([
    ...["--upstream", upstream, "--gateway.accessLog.format=off", "--drain.deadline=30s", ...args],
  ])
  afterThis(() => gateway.stop())
  return gateway
}

it.each([1, 2])("restarts under wrk without one failed request, with %i workers", async (workers) => {
  const backend = await openBackend()
  const gateway = await supervise(backend, [`--workers=${workers}`])
  const load = loadWithWrk(`http://${LOOPBACK}:${gateway.port}/`, 16)
  await eventually(() => backend.seen.length > 500, { within: 30_000 })
  await gateway.restart()
  const before = backend.seen.length
  await eventually(() => backend.seen.length > before + 500, { within: 30_000 })
  expect(await load.stop()).toEqual([])
})

it("restarts while clients upload without one failed request, and each body arrives whole", async () => {
  const backend = await openBackend(async (asked, response) => void response.end(await text(asked)))
  const gateway = await supervise(backend)
  const failures: unknown[] = []
  let answered = 0
  let isOver = false
  // Not safe to send again: a client whose upload is cut cannot know whether it was taken.
  const clients = Array.from({ length: 12 }, async (_, i) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isOver) {
      const body = `${i} `.repeat(5_000)
      const call = request({ host: LOOPBACK, port: gateway.port, method: "POST", agent })
      call.end(body)
      try {
        const [response] = (await once(call, "response")) as [IncomingMessage]
        const echoed = await text(response)
        if (response.statusCode !== 200 || echoed !== body) failures.push(response.statusCode)
        answered++
      } catch (error) {
        failures.push(error)
      }
    }
    agent.destroy()
  })
  for (let i = 0; i < 2; i++) {
    const before = answered
    await eventually(() => answered > before + 200, { within: 30_000 })
    await gateway.restart()
  }
  isOver = true
  await Promise.all(clients)
  expect(failures).toEqual([])
  expect(gateway.logged().filter(({ msg }) => msg === "stopped")).toHaveLength(2)
})

it("finishes an answer in progress before it exits", async () => {
  const backend = await openBackend((asked, response) => {
    if (asked.url !== "/long") return void response.end()
    response.write("first,")
    backendAnswer = () => response.end("last")
  })
  let backendAnswer: (() => void) | undefined
  const gateway = await supervise(backend)
  const answer = await fetch(`http://${LOOPBACK}:${gateway.port}/long`)
  const restarted = gateway.restart()
  await eventually(() => gateway.logged().some(({ msg }) => msg === "draining"))
  backendAnswer?.()
  expect(await answer.text()).toBe("first,last")
  await restarted
})
