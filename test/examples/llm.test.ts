// examples/llm as a whole: service, fake model and agent, over real HTTP.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { beforeAll, expect, it, onTestFinished } from "vitest"
import { build } from "../support/build.js"
import { eventually } from "../support/eventually.js"
import { reservePort } from "../support/ports.js"

const folder = fileURLToPath(new URL("../../examples/llm/", import.meta.url))
beforeAll(() => build("packages/sluice"), 120_000)

/** Starts the service with rules in which these numbers are replaced. */
async function start(replaced: Readonly<Record<string, string>> = {}, wordMs = 0) {
  let rules = readFileSync(join(folder, "rules.yaml"), "utf8")
  for (const [from, to] of Object.entries(replaced)) rules = rules.replace(from, to)
  const files = mkdtempSync(join(tmpdir(), "sluice-llm-"))
  writeFileSync(join(files, "rules.yaml"), rules)
  const { port, release } = await reservePort()
  const env = {
    ...process.env,
    PORT: String(port),
    RULES: join(files, "rules.yaml"),
    WORD_MS: String(wordMs),
  }
  const child = spawn(process.execPath, [join(folder, "server.mjs")], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = once(child, "exit")
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await ended
    await release()
    rmSync(files, { recursive: true })
  })
  await once(child.stdout, "data")
  const url = `http://127.0.0.1:${port}`
  const headers = { authorization: "Bearer key-of-ada" }
  const ask = (body: object, signal: AbortSignal | null = null) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers,
      signal,
      body: JSON.stringify({
        model: "small",
        stream: true,
        max_tokens: 100,
        messages: [{ role: "user", content: "hi" }],
        ...body,
      }),
    })
  const used = async (limit: string): Promise<number> => {
    const usage = (await (await fetch(`${url}/usage`, { headers })).json()) as Record<
      string,
      { used: number }
    >
    return usage[limit]?.used ?? Number.NaN
  }
  const agent = async (questions: number, more: Readonly<Record<string, string>> = {}) => {
    const program = spawn(process.execPath, [join(folder, "agent.mjs"), String(questions)], {
      env: { ...process.env, SERVICE_URL: url, ...more },
      stdio: ["ignore", "pipe", "inherit"],
    })
    onTestFinished(() => void program.kill("SIGKILL"))
    return (await text(program.stdout)).trim().split("\n")
  }
  return { url, ask, used, agent }
}

it("the agent gets its answers, and its user is charged what the streams have used", async () => {
  const { agent, used } = await start()
  const words = "water flows through the gate when it opens"
  expect(await agent(2)).toEqual([`answer 1: ${words}`, `answer 2: ${words}`])
  // Two words of the question, and eight words that cost 4 each.
  await eventually(async () => (await used("monthly-budget")) === 68)
  expect(await used("requests-per-minute")).toBe(2)
})

it("the agent waits for a limit by the minute, and stops when the budget of the month is gone", async () => {
  const shortMinute = await start({ "limit: 60, window: 1m": "limit: 2, window: 3s" })
  const lines = await shortMinute.agent(3)
  expect(lines.filter((line) => line.startsWith("answer"))).toHaveLength(3)
  expect(lines[2]).toMatch(/^waits: the limit requests-per-minute denies this call: try again in [123] s$/)

  const smallBudget = await start({ "limit: 500000": "limit: 500" })
  const stopped = await smallBudget.agent(9)
  expect(stopped.at(-1)).toMatch(/^stops: the limit monthly-budget denies this call: try again in \d+ s$/)
  expect(stopped.some((line) => line.startsWith("waits"))).toBe(false)
})

it("denies a fifth call at once, and frees the place of a user that leaves", async () => {
  const { ask, used } = await start({}, 60_000)
  const controllers = Array.from({ length: 4 }, () => new AbortController())
  const calls = controllers.map(({ signal }) =>
    ask({}, signal)
      .then((response) => response.text())
      .catch(() => "left"),
  )
  await eventually(async () => (await used("calls-at-once")) === 4)
  const estimates = await used("monthly-budget")
  const denied = await ask({})
  expect(denied.status).toBe(429)
  expect([denied.headers.get("retry-after"), denied.headers.get("x-should-retry")]).toEqual(["1", "true"])
  expect(await denied.json()).toMatchObject({ error: { code: "calls-at-once", retry_after_seconds: 1 } })
  expect(await used("requests-per-minute")).toBe(4)
  for (const controller of controllers) controller.abort()
  expect(await Promise.all(calls)).toEqual(["left", "left", "left", "left"])
  await eventually(async () => (await used("calls-at-once")) === 0)
  // Nobody knows what the model has done for them: the estimate stays.
  expect(await used("monthly-budget")).toBe(estimates)
})

it("passes each word on when it comes, and refunds a call that the model fails", async () => {
  const { ask, used } = await start({}, 300)
  const response = await ask({ max_tokens: 2 })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const first = Buffer.from((await reader.read()).value ?? []).toString()
  expect(first).toContain("water")
  expect(first).not.toContain("flows")
  await reader.cancel()
  await eventually(async () => (await used("calls-at-once")) === 0)
  const before = await used("monthly-budget")
  expect((await ask({ model: "broken" })).status).toBe(503)
  await eventually(async () => (await used("monthly-budget")) === before)
})
