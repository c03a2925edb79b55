import { describe, expect, it } from "vitest"
import { openRules } from "../service/rules.js"
import { openStore } from "../service/serving/open-core.js"
import { createWatch } from "../telemetry/hub.js"
import { createLog } from "../telemetry/log.js"
import { fields } from "./fields.js"
import { LIBRARY_OPTIONS, type OptionPlace } from "./library-options.js"
import { type Config, configSchema } from "./schema.js"

const watch = createWatch({ log: createLog({ level: "silent" }) })
const settings = fields().map(({ path }) => path.join("."))

function placesOf(options: string): [name: string, place: OptionPlace][] {
  return Object.entries(LIBRARY_OPTIONS[options] ?? {})
}

/** The names of the options that are settings. */
function settable(options: string): string[] {
  return placesOf(options).flatMap(([name, place]) => ("setting" in place ? [name] : []))
}

describe("an option of the library", () => {
  it.each(Object.keys(LIBRARY_OPTIONS))("of %s is a setting, or has a reason why it is none", (options) => {
    for (const [name, place] of placesOf(options)) {
      if ("reason" in place) expect(place.reason, name).not.toBe("")
      else {
        const exists = settings.some((path) => path === place.setting || path.startsWith(`${place.setting}.`))
        expect(exists, `${name}: ${place.setting}`).toBe(true)
      }
    }
  })
})

/** Settings that the service itself uses. */
const OF_SERVICE = ["store.url", "rules.file", "rules.inline", "rules.redis.enabled", "rules.redis.url"]

it("every setting of the store and of the rules is an option of the library, or the service uses it", () => {
  const named = Object.keys(LIBRARY_OPTIONS).flatMap((options) =>
    placesOf(options).flatMap(([, place]) => ("setting" in place ? [place.setting] : [])),
  )
  const unnamed = settings.filter((path) => /^(store|rules)\./.test(path) && !named.includes(path))
  expect(unnamed.filter((path) => !OF_SERVICE.includes(path))).toEqual([])
})

/** No option takes this, so the library names the option that got it. */
const WRONG = Symbol("wrong") as never
const place = (name: string) => expect.objectContaining({ place: name })

describe("a setting reaches the library", () => {
  const store = (own: object): Config["store"] => ({ ...configSchema.parse({}).store, ...own })
  const redis = { url: "redis://127.0.0.1:1" }
  const ofClient = ["connectTimeout", "socketTimeout", "maxReconnectDelay"]

  const ownFields = settable("connectRedis").filter((name) => name !== "breaker")
  it.each(ownFields)("store.%s", async (name) => {
    const opening = openStore(store({ ...redis, [name]: WRONG }), watch)
    await expect(opening).rejects.toThrow(
      place(`${ofClient.includes(name) ? "connectRedis" : "redisStore"}.${name}`),
    )
  })

  it.each(settable("connectRedis.breaker"))("store.breaker.%s", async (name) => {
    const opening = openStore(store({ ...redis, breaker: { [name]: WRONG } }), watch)
    await expect(opening).rejects.toThrow(place(`redisStore.breaker.${name}`))
  })

  it.each(["maxKeys", "onFull"])("store.%s, in memory", async (name) => {
    await expect(openStore(store({ [name]: WRONG }), watch)).rejects.toThrow(place(`memoryStore.${name}`))
  })

  it("store.snapshot, in memory", async () => {
    const opening = openStore(store({ snapshot: WRONG }), watch)
    await expect(opening).rejects.toThrow(/path/)
  })

  const open = async (own: object) => {
    const config = configSchema.parse({})
    const rules = { ...config.rules, inline: { version: 1, rules: [] }, ...own }
    const { close } = await openRules({ ...config, rules }, watch.log)
    await close()
  }

  it.each(settable("guardRails"))("rules.guardRails.%s", async (name) => {
    await expect(open({ guardRails: { [name]: WRONG } })).rejects.toThrow(place(`guardRails.${name}`))
  })

  it("rules.history", async () => {
    await expect(open({ history: WRONG })).rejects.toThrow(place("objectRules.history"))
    await expect(open({ file: "rules.yaml", history: WRONG })).rejects.toThrow(place("fileRules.history"))
  })

  it.each(["poll", "historyFile"])("rules.%s, for a file", async (name) => {
    await expect(open({ file: "rules.yaml", [name]: WRONG })).rejects.toThrow(place(`fileRules.${name}`))
  })

  it.each(["name", "lastGood", "deadline"])("rules.redis.%s", async (name) => {
    const opening = open({ redis: { enabled: true, ...redis, [name]: WRONG } })
    await expect(opening).rejects.toThrow(place(`redisRules.${name}`))
  })

  it("rules.poll and rules.history, for Redis", async () => {
    const inRedis = { redis: { enabled: true, ...redis } }
    await expect(open({ ...inRedis, poll: WRONG })).rejects.toThrow(place("redisRules.poll"))
    await expect(open({ ...inRedis, history: WRONG })).rejects.toThrow(place("redisRules.history"))
  })
})
