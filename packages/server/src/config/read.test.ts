import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ConfigError } from "./problems.js"
import { CONFIG_FILE, type ConfigSources, readConfig } from "./read.js"

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-config-"))
})

afterEach(() => rmSync(folder, { recursive: true }))

function write(text: string, name = CONFIG_FILE): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function read(sources: ConfigSources = {}) {
  return readConfig({ folder, ...sources }).config
}

function problemsOf(sources: ConfigSources): string[] {
  try {
    readConfig({ folder, ...sources })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ place, path, message }) =>
      `${place.replace(folder, "…")} ${path} ${message}`.replace("  ", " "),
    )
  }
  throw new Error("nothing was refused")
}

it("by default listens on the loopback address, counts in memory and starts one worker", () => {
  expect(read()).toMatchObject({
    http: { host: "127.0.0.1", port: 8080 },
    grpc: { enabled: true, host: "127.0.0.1", port: 8081 },
    resp: { enabled: false },
    control: { enabled: true, host: "127.0.0.1", port: 9090, tokens: [] },
    store: { url: "memory" },
    workers: 1,
    drain: { delay: 0, deadline: 10_000 },
  })
})

describe("where settings come from", () => {
  it("flags override environment variables, which override the file, which overrides the defaults", () => {
    write("http: { port: 1001, host: ::1 }\nworkers: 2\ndrain: { deadline: 3s }\n")
    const env = { SLUICE_HTTP__PORT: "1002", SLUICE_WORKERS: "3" }
    expect(read()).toMatchObject({ http: { port: 1001, host: "::1" }, workers: 2, drain: { deadline: 3000 } })
    expect(read({ env })).toMatchObject({ http: { port: 1002, host: "::1" }, workers: 3 })
    expect(read({ env, argv: ["--http.port", "1003"] })).toMatchObject({ http: { port: 1003 }, workers: 3 })
  })

  it("reads flags with and without =, switches with and without no-, and both spellings of a name", () => {
    const argv = [
      "--http.port=0",
      "--resp.enabled",
      "--no-grpc.enabled",
      "--store.max-keys",
      "7",
      "--store.onFull=allow",
    ]
    expect(read({ argv })).toMatchObject({
      http: { port: 0 },
      resp: { enabled: true },
      grpc: { enabled: false },
      store: { maxKeys: 7, onFull: "allow" },
    })
  })

  it("takes the time-outs of Redis clients if only the rules are in Redis", () => {
    const argv = ["--rules.redis.enabled", "--rules.redis.url=redis://h", "--store.connect-timeout=3s"]
    expect(read({ argv }).store.connectTimeout).toBe(3_000)
  })

  it("reads lists from commas and from JSON", () => {
    expect(read({ env: { SLUICE_TRUSTED_PROXIES: "10.0.0.0/8, loopback" } }).trustedProxies).toEqual([
      "10.0.0.0/8",
      "loopback",
    ])
    const tokens = [{ name: "ann", role: "admin", hash: "x" }]
    expect(read({ env: { SLUICE_CONTROL__TOKENS: JSON.stringify(tokens) } }).control.tokens).toEqual(tokens)
  })

  it("reads a secret from the file that _FILE names, without the last line break", () => {
    const path = write("s3cret\n", "secret.txt")
    expect(read({ env: { SLUICE_SECRET_FILE: path } }).secret).toBe("s3cret")
  })

  it("ignores an empty variable", () => {
    expect(read({ env: { SLUICE_HTTP__PORT: "", SLUICE_SECRET: "" } }).secret).toBeUndefined()
  })

  it("resolves paths in the file relative to the file", () => {
    write("rules: { file: rules.yaml }\n", "elsewhere.yaml")
    expect(read({ argv: ["--config", "elsewhere.yaml"] }).rules.file).toBe(join(folder, "rules.yaml"))
    expect(read({ env: { SLUICE_CONFIG: "elsewhere.yaml" } }).rules.file).toBe(join(folder, "rules.yaml"))
    expect(read({ argv: ["--rules.file", "here.yaml"] }).rules.file).toBe("here.yaml")
  })

  it("ignores the variables that Kubernetes sets for a service called sluice", () => {
    const env = {
      SLUICE_PORT: "tcp://10.0.0.1:80",
      SLUICE_SERVICE_HOST: "10.0.0.1",
      SLUICE_PORT_80_TCP_PORT: "80",
    }
    expect(read({ env }).http.port).toBe(8080)
  })
})

describe("a mistake", () => {
  it("is listed together with all others, each with its place", () => {
    write("http:\n  prt: 80\nworkers: 0\nlog: { level: loud }\n")
    const env = { SLUICE_HTTP__PORT: "99999", SLUICE_STORE__URLL: "x" }
    expect(problemsOf({ env, argv: ["--drain.deadline", "soon", "--wrokers", "2"] })).toEqual([
      "SLUICE_STORE__URLL does not exist; did you mean SLUICE_STORE__URL?",
      "--wrokers does not exist; did you mean --workers?",
      "SLUICE_HTTP__PORT http.port must be at most 65535, got 99999",
      `…/${CONFIG_FILE}:2:3 http.prt does not exist; did you mean port?`,
      `…/${CONFIG_FILE}:4:8 log.level must be one of debug, info, warn, error, silent, got "loud"`,
      `…/${CONFIG_FILE}:3:1 workers must be at least 1, got 0`,
      '--drain.deadline drain.deadline must be milliseconds or text like "100ms", "10s", "1m", got "soon"',
    ])
  })

  it.each([
    [
      "a port that is a word",
      { argv: ["--http.port", "http"] },
      '--http.port http.port must be a number, got "http"',
    ],
    ["a flag without its value", { argv: ["--http.port"] }, "--http.port needs a value"],
    [
      "a duration no timer can wait",
      { argv: ["--drain.deadline=30d"] },
      /drain\.deadline must be milliseconds/,
    ],
    [
      "a variable and its file",
      { env: { SLUICE_SECRET: "a", SLUICE_SECRET_FILE: "b" } },
      "SLUICE_SECRET_FILE cannot be combined with SLUICE_SECRET",
    ],
    [
      "a file that is not there",
      { env: { SLUICE_SECRET_FILE: "/no/such" } },
      /^SLUICE_SECRET_FILE names a file that cannot be read: ENOENT/,
    ],
    [
      "a bound on a store that has none",
      { argv: ["--store.url=redis://h", "--store.max-keys=5"] },
      "--store.max-keys store.maxKeys is only for the memory store, but store.url names another store",
    ],
    [
      "a deadline of a store that never waits",
      { argv: ["--store.deadline=20ms"] },
      "--store.deadline store.deadline is only for a store in Redis, but store.url is memory",
    ],
    [
      "a breaker in front of memory",
      { argv: ["--store.breaker.failures=2"] },
      "--store.breaker.failures store.breaker.failures is only for a store in Redis, but store.url is memory",
    ],
    [
      "a deadline of no time",
      { argv: ["--store.url=redis://h", "--store.deadline=0s"] },
      '--store.deadline store.deadline must be longer than 0, got "0s"',
    ],
    [
      "guard rails that exclude each other",
      { argv: ["--rules.guard-rails.min-window=2m", "--rules.guard-rails.max-window=1m"] },
      "--rules.guard-rails.min-window rules.guardRails.minWindow must not be above rules.guardRails.maxWindow",
    ],
    [
      "rules in a Redis that nobody named",
      { argv: ["--rules.redis.enabled"] },
      "rules.redis.url is required when the store is not in Redis",
    ],
    [
      "a token without anything to compare",
      { env: { SLUICE_CONTROL__TOKENS: '[{"name":"a","role":"admin"}]' } },
      "SLUICE_CONTROL__TOKENS control.tokens[0] must be given with either token or hash, got a map",
    ],
    [
      "a configuration that is not there",
      { argv: ["--config", "no.yaml"] },
      /^…\/no\.yaml cannot be read: ENOENT/,
    ],
  ] as [string, ConfigSources, string | RegExp][])("is reported: %s", (_name, sources, message) => {
    const problems = problemsOf(sources).map((problem) => problem.trim())
    expect(problems).toEqual([typeof message === "string" ? message : expect.stringMatching(message)])
  })

  it.each([
    ["--rule.file", "--rules.file"],
    ["--rulesfile", "--rules.file"],
    ["--port", "--http.port"],
    ["--max-keys", "--store.max-keys"],
    ["--worker", "--workers"],
    ["--grpc.prt", "--grpc.port"],
    ["-workers", "--workers"],
  ])("in the name of a flag is reported once, and suggests for %s the flag %s", (flag, meant) => {
    const told = [`${flag} does not exist; did you mean ${meant}?`]
    expect(problemsOf({ argv: [flag, "2"] })).toEqual(told)
    // What it would have said is not missing.
    expect(problemsOf({ argv: ["gateway", flag, "2"] })).toEqual(told)
  })

  it("is reported if two protocols have the same port", () => {
    expect(problemsOf({ argv: ["--http.port=8081"] })).toEqual([
      " grpc.port is 8081, the same as http.port: choose another port",
    ])
    expect(problemsOf({ argv: ["--control.port=8080", "--control.host=0.0.0.0"] })).toHaveLength(1)
    expect(read({ argv: ["--control.port=8080", "--control.host=127.0.0.2"] }).control.port).toBe(8080)
    expect(read({ argv: ["--http.port=8081", "--no-grpc.enabled"] }).http.port).toBe(8081)
  })

  it("in the YAML itself has its line and column", () => {
    write("http:\n  port: [80\n")
    expect(problemsOf({})[0]).toMatch(/sluice\.config\.yaml:\d+:\d+ /)
  })

  it("never shows a secret, nor a URL with a password in it", () => {
    const argv = ["--secret", "", "--resp.password="]
    const text = problemsOf({
      argv,
      env: { SLUICE_CONTROL__TOKENS: '[{"name":"a","role":"admin","token":"hunter2"}]' },
    }).join("\n")
    expect(text).toContain("control.tokens[0].token must be a string of at least 16 characters")
    expect(text).not.toContain("hunter2")
  })

  it("is reported if a token is required and none is configured", () => {
    const text = problemsOf({ argv: ["--http.requireToken"] }).join("\n")
    expect(text).toContain("http.requireToken must be false, because http.tokens is empty")
  })

  it.each([
    ["tokens that are no JSON", { env: { SLUICE_CONTROL__TOKENS: '[{"token":"hunter2"' } }],
    ["tokens that are a plain list", { argv: ["--control.tokens", "hunter2,hunter2"] }],
    ["a token as the name of a field", { env: { SLUICE_CONTROL__TOKENS: '[{"hunter2":"admin"}]' } }],
    ["a secret behind a flag that does not exist", { argv: ["--secrt", "hunter2"] }],
    ["a secret in place of its file", { env: { SLUICE_SECRET_FILE: "hunter2" } }],
    [
      "an upstream with a password where a list goes",
      { env: { SLUICE_GATEWAY__UPSTREAMS: '{"a":{"targets":"http://me:hunter2@h"}}' } },
    ],
    ["a password of two words in the file", 'resp:\n  password: "a" "hunter2"\n'],
    ["an alias in the file", "secret: *hunter2\n"],
  ] as [string, ConfigSources | string][])("never shows %s", (_name, given) => {
    if (typeof given === "string") write(given)
    expect(problemsOf(typeof given === "string" ? {} : given).join("\n")).not.toContain("hunter2")
  })
})
