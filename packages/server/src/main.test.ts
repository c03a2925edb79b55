import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterEach, beforeAll, expect, it } from "vitest"

const program = fileURLToPath(new URL("../dist/main.js", import.meta.url))
const children: ChildProcess[] = []

beforeAll(() => {
  const script = fileURLToPath(new URL("../../../scripts/build.mjs", import.meta.url))
  expect(spawnSync(process.execPath, [script, "packages/server"], { stdio: "inherit" }).status).toBe(0)
}, 60_000)

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL")
})

function run(env: Record<string, string>) {
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, HOST: "", ...env },
    stdio: "pipe",
  })
  children.push(child)
  return child
}

/** Starts it on a free port and waits for the line that says where. */
async function listening() {
  const child = run({ PORT: "0" })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^Sluice listens on (http:\S+)$/.exec(line)?.[1]
    if (url) return { child, url }
  }
  throw new Error("it ended without listening")
}

it("allows five checks of a key and denies the sixth", async () => {
  const { url } = await listening()
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    const response = await fetch(`${url}/v1/check`, { method: "POST", body: '{"key":"user:42"}' })
    statuses.push(response.status)
    if (response.status === 429)
      expect(await response.json()).toMatchObject({ allowed: false, deniedBy: "burst" })
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
})

it.each(["SIGTERM", "SIGINT"] as const)(
  "ends with status 0 on %s, even when it comes twice",
  async (signal) => {
    const { child, url } = await listening()
    await fetch(`${url}/livez`)
    const exited = once(child, "exit")
    child.kill(signal)
    child.kill(signal)
    expect(await exited).toEqual([0, null])
  },
)

it("ends with status 1 and says what to do when the port is taken", async () => {
  const { url } = await listening()
  const second = run({ PORT: new URL(url).port })
  let message = ""
  second.stderr.on("data", (chunk) => {
    message += chunk
  })
  const [status] = await once(second, "close")
  expect(status).toBe(1)
  expect(message).toContain("is taken by another program")
  expect(message).toMatch(/PORT=\d+ npm start/)
})
