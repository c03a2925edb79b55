import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redis } from "ioredis"
import { createRuleEngine, fileRules, parseRuleSet, redisRules } from "sluice/rules"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { longestStall } from "../../../../test/support/own-time.js"
import { startRedis } from "../../../../test/support/redis/single.js"
import { testCore } from "../core.test-support.js"
import { ruleWork } from "../rule-work/source-work.js"
import { startControl, type TestControl } from "./control-plane.test-support.js"
import { rightSets, type WorstBody, worstRequests, worstSets } from "./worst-bodies.test-support.js"

const MAX_STALL_MS = 50

let control: TestControl

beforeAll(async () => {
  control = await startControl()
  // Code that runs for the first time is compiled first.
  await control.ask("POST", "/rules/validate", { body: { version: 1, rules: [] } })
})

afterAll(async () => {
  expect(control.errors).toEqual([])
  await control.close()
})

/** The best of a few tries: another program may take the processor from us, but gives us nothing. */
async function send(method: string, path: string, { type, text }: WorstBody) {
  for (let tries = 1; ; tries++) {
    const { result, stallMs } = await longestStall(() =>
      control.ask(method, path, { headers: { "content-type": `application/${type}` }, body: text }),
    )
    if (stallMs < MAX_STALL_MS || tries === 4) return { ...result, stallMs }
  }
}

const EMPTY: WorstBody = { name: "empty", type: "json", text: '{"version":1,"rules":[]}' }

/** Puts a set in force in place of an empty one: by a PUT, and by what else has to come of it. */
async function putInForce(
  on: TestControl,
  { text }: WorstBody,
  then: () => Promise<unknown> = async () => {},
) {
  for (let tries = 1; ; tries++) {
    expect((await on.ask("PUT", "/rules", { body: EMPTY.text })).status).toBe(200)
    await then()
    const { result, stallMs } = await longestStall(async () => {
      const answer = await on.ask("PUT", "/rules", { body: text })
      await then()
      return answer
    })
    expect([result.status, result.json]).toEqual([200, JSON.parse(text)])
    if (stallMs < MAX_STALL_MS || tries === 4) return { revision: on.core.rules.current.revision, stallMs }
  }
}

describe("the worst rule sets of 256 KB", () => {
  it.each(worstSets().map((body) => [body.name, body] as const))(
    "are refused and stall nothing: %s",
    async (_name, body) => {
      const { status, json, stallMs } = await send("POST", "/rules/validate", body)
      expect([status, json.valid]).toEqual([200, false])
      expect(json.problems.length).toBeLessThanOrEqual(1_000)
      expect(stallMs).toBeLessThan(MAX_STALL_MS)
    },
    60_000,
  )

  it.each(rightSets().map((body) => [body.name, body] as const))(
    "are put in force and stall nothing: %s",
    async (_name, body) => {
      const { revision, stallMs } = await putInForce(control, body)
      expect(control.core.engine.revision).toBe(revision)
      expect(stallMs).toBeLessThan(MAX_STALL_MS)
    },
    60_000,
  )
})

/** Somebody edits the file by hand: it is followed without a stall, also when there is a mistake in it. */
async function followsEdit({ core }: TestControl, path: string): Promise<void> {
  const { revision } = core.engine
  const text = readFileSync(path, "utf8")
  const follow = async (edited: string, isDone: () => boolean) => {
    const { stallMs } = await longestStall(async () => {
      writeFileSync(path, edited)
      await eventually(isDone)
    })
    expect(stallMs).toBeLessThan(MAX_STALL_MS)
  }
  await follow(`${text}}`, () => core.rules.stale)
  expect(core.engine.revision).toBe(revision)
  await follow(
    text.replace("id: a", "id: b").replace('"id":"a"', '"id":"b"'),
    () => core.engine.revision > revision,
  )
  expect([core.rules.stale, core.engine.rules.rules[0]?.id]).toEqual([false, "b"])
}

describe("the largest rule sets", () => {
  const named = (...names: string[]) => rightSets().filter(({ name }) => names.includes(name))

  it.each([
    ["JSON", EMPTY.text, "a large answer"],
    ["YAML", "# Kept.\nversion: 1\nrules: []\n", "many headers"],
  ])(
    "are written to a file of %s without blocking the event loop",
    async (_format, first, name) => {
      const folder = mkdtempSync(join(tmpdir(), "sluice-worst-"))
      const path = join(folder, "rules.yaml")
      writeFileSync(path, first)
      const source = await fileRules(path, { work: ruleWork, onEvent: () => {} })
      const onFile = await startControl({}, testCore(source))
      try {
        for (const body of named(name)) {
          const { revision, stallMs } = await putInForce(onFile, body)
          expect(onFile.core.engine.revision).toBe(revision)
          const text = readFileSync(path, "utf8")
          expect(parseRuleSet(text)).toEqual(JSON.parse(body.text))
          expect(stallMs).toBeLessThan(MAX_STALL_MS)
        }
        await followsEdit(onFile, path)
      } finally {
        await onFile.close()
        await source.close()
        rmSync(folder, { recursive: true })
      }
    },
    60_000,
  )

  it("are saved to Redis, and loaded from there, without blocking the event loop", async () => {
    const server = await startRedis()
    const client = new Redis(server.port, server.host)
    const follower = new Redis(server.port, server.host)
    const open = (redis: Redis) => redisRules(redis, { initial: { version: 1, rules: [] }, work: ruleWork })
    const [source, followed] = [await open(client), await open(follower)]
    const onRedis = await startControl({}, testCore(source))
    const engine = createRuleEngine({ rules: followed })
    try {
      for (const body of named("many rules", "rules with lists of paths")) {
        const { stallMs } = await putInForce(onRedis, body, () =>
          eventually(() => engine.revision === onRedis.core.engine.revision),
        )
        expect(engine.rules).toEqual(JSON.parse(body.text))
        expect(stallMs, body.name).toBeLessThan(MAX_STALL_MS)
      }
      const { stallMs } = await longestStall(() => onRedis.ask("GET", "/rules/revisions"))
      expect(stallMs).toBeLessThan(MAX_STALL_MS)
    } finally {
      await Promise.all([onRedis.close(), engine.close(), source.close(), followed.close()])
      for (const redis of [client, follower]) redis.disconnect()
      await server.stop()
    }
  }, 60_000)
})

it("applies large rule sets in the order in which they were accepted, and shows them as YAML", async () => {
  const [many, ...others] = rightSets().filter(({ name }) => name.startsWith("many rules"))
  const revisions: number[] = []
  const watching = setInterval(() => revisions.push(control.core.engine.revision), 1)
  const first = control.ask("PUT", "/rules", { body: many?.text })
  // The second is made on the first, which is accepted before it decides.
  const before = control.core.rules.current.revision
  await eventually(() => control.core.rules.current.revision === before + 1)
  const second = await control.ask("PUT", "/rules", { body: others[0]?.text })
  expect([(await first).status, second.status]).toEqual([200, 200])
  clearInterval(watching)
  expect(control.core.engine.revision).toBe(before + 2)
  expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))

  const shown = await longestStall(() =>
    control.ask("GET", "/rules", { headers: { accept: "application/yaml" } }),
  )
  expect(shown.stallMs).toBeLessThan(MAX_STALL_MS)
  await control.ask("PUT", "/rules", { body: EMPTY.text })
})

it.each([
  ["PUT", "/rules", `{"version":1,"rules":[${"{},".repeat(20_000)}{}]}`],
  ["POST", "/rules", `{"id":"x",${Array.from({ length: 20_000 }, (_, i) => `"f${i}":1`).join()}}`],
  ["PUT", "/lists/deny", `[${"1,".repeat(60_000)}1]`],
])(
  "%s %s lists the first mistakes without blocking the event loop",
  async (method, path, text) => {
    const { status, json, stallMs } = await send(method, path, { name: path, type: "json", text })
    expect([status, json.code, json.problems.length]).toEqual([422, "RULES_INVALID", 1_000])
    expect(stallMs).toBeLessThan(MAX_STALL_MS)
  },
  60_000,
)

describe("the worst requests to explain", () => {
  it.each(worstRequests().map((body) => [body.name, body] as const))(
    "stall nothing: %s",
    async (_name, body) => {
      const { status, stallMs } = await send("POST", "/explain", body)
      expect([200, 400]).toContain(status)
      expect(stallMs).toBeLessThan(MAX_STALL_MS)
    },
    60_000,
  )
})
