// A callback of the user that throws must not end the process, nor leave a check without an answer.

import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "rolldown"
import { afterAll, beforeAll, expect, it } from "vitest"
import { closeRoom, openRoom } from "../support/sandbox.js"
import { useRedis } from "./one-server.js"

const redis = useRedis()
const sources = fileURLToPath(new URL("../../packages/sluice/src", import.meta.url))

let room: string
let script: string

beforeAll(async () => {
  room = openRoom("user-callbacks")
  script = join(room, "user-callbacks.mjs")
  await build({
    input: fileURLToPath(new URL("./fixtures/user-callbacks.ts", import.meta.url)),
    platform: "node",
    resolve: {
      alias: {
        "sluice/redis": join(sources, "stores/redis/index.ts"),
        "sluice/rules": join(sources, "rules/index.ts"),
        "sluice/node": join(sources, "middleware/node/node.ts"),
        sluice: join(sources, "index.ts"),
      },
    },
    output: { file: script, codeSplitting: false },
    logLevel: "silent",
  })
}, 60_000)
afterAll(() => closeRoom(room))

it.each([
  ["error", "an Error"],
  ["rejection", "a rejected promise"],
  ["nothing", "a value without a text"],
])("none of them ends the process or hangs a call by %s (%s)", { timeout: 60_000 }, async (way) => {
  const child = fork(script, [way, redis.server.url, room], { stdio: ["ignore", "pipe", "pipe", "ipc"] })
  let printed = ""
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    printed += text
  })
  let report: { said: Record<string, string>; thrown: number } | undefined
  child.on("message", (message) => {
    report = message as typeof report
  })
  const [code, signal] = await once(child, "close")
  expect({ code, signal }, printed).toEqual({ code: 0, signal: null })
  expect(report?.said).toEqual({
    "onFailure of a store that cannot reach Redis": "allowed true local",
    "the clock of a Redis store": "allowed true local",
    "the clock of a limiter": "rejected as the user did",
    "the clock of a memory store, in its timer": "lives on",
    "a clock in a wait": "rejected as the user did",
    "onWarning of a memory store": "allowed true shared",
    "onDecision of an engine": "allowed true shared",
    "tierOf of an engine": "rejected as the user did",
    "listeners to rules": "revision 2",
    "a shadow beside a check that rejects": "rejected STORE_CLOSED",
    "key of a middleware": "answered 500,500",
    "skip of a middleware": "answered 500,500",
    "cost of a middleware": "answered 500,500",
    "onDecision of a middleware": "answered 200,200",
    "onDenied of a middleware": "answered 200,500",
    "requestWasSuccessful of a middleware": "answered 200,200",
  })
  expect(report?.thrown).toBeGreaterThanOrEqual(14)
})
