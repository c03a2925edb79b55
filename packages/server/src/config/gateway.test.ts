import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { ConfigError } from "./problems.js"
import { readConfig } from "./read.js"

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-gateway-config-"))
})

afterEach(() => rmSync(folder, { recursive: true }))

function read(argv: readonly string[], file?: string) {
  if (file !== undefined) writeFileSync(join(folder, "sluice.config.yaml"), file)
  return readConfig({ argv, folder }).config
}

/** What is wrong with a gateway's section, each with its line. */
function mistakes(gateway: string, argv: readonly string[] = []): string[] {
  try {
    read(argv, `gateway:\n  enabled: true\n${gateway.replace(/^/gm, "  ")}\n`)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ place, path, message }) => `${place.split(":").at(-2)} ${path} ${message}`)
  }
}

describe("the command gateway", () => {
  it("starts only a gateway, and has short flags for common settings", () => {
    const { gateway, rules, http, grpc, control } = read([
      "gateway",
      "--upstream",
      "http://localhost:3000",
      "--rules=rules.yaml",
    ])
    expect(gateway).toMatchObject({ enabled: true, port: 8000, upstream: ["http://localhost:3000"] })
    expect(rules.file).toBe("rules.yaml")
    expect([http.enabled, grpc.enabled, control.enabled]).toEqual([false, false, true])
  })

  it("also starts other protocols that are enabled", () => {
    const upstream = "gateway: { upstream: [http://a:1], enabled: false }\n"
    const { gateway, http, grpc } = read(
      ["gateway", "--grpc.enabled"],
      `${upstream}http: { enabled: true }\n`,
    )
    expect([gateway.enabled, http.enabled, grpc.enabled]).toEqual([true, true, true])
  })

  it("requires an upstream", () => {
    expect(() => read(["gateway"])).toThrow(
      "gateway.upstream is required: where requests go, such as --upstream http://localhost:3000",
    )
  })

  it("accepts a list in one flag or in several", () => {
    const targets = ["http://a:1", "http://b:1", "http://c:1"]
    expect(
      read(["gateway", "--upstream", "http://a:1,http://b:1", "--upstream", "http://c:1"]).gateway.upstream,
    ).toEqual(targets)
  })
})

it("serve starts no gateway by default", () => {
  expect(read([]).gateway.enabled).toBe(false)
})

it("resolves paths relative to the file that names them", () => {
  const { gateway } = read(
    [],
    `gateway:
  tls: { cert: tls/cert.pem, key: tls/key.pem }
  accessLog: { file: access.log }
  upstreams: { a: { targets: [https://a], tls: { ca: ca.pem } }, b: { targets: [http://b] } }
`,
  )
  expect(gateway.tls).toEqual({ cert: join(folder, "tls/cert.pem"), key: join(folder, "tls/key.pem") })
  expect(gateway.accessLog.file).toBe(join(folder, "access.log"))
  expect(gateway.upstreams.a?.tls.ca).toBe(join(folder, "ca.pem"))
})

describe("what is wrong with a gateway", () => {
  it.each([
    ["localhost:3000", "must be an address such as http://localhost:3000"],
    ["ftp://a", "must be an address such as http://localhost:3000"],
    ["http://user:hunter2@a", "must have no user and no password: the gateway does not send them"],
    ["http://a:1/api", "must have no path, such as http://a:1"],
    ["http://a:1/?x", "must have no path, such as http://a:1"],
  ])("includes the address %s: %s", (address, message) => {
    expect(mistakes(`upstream: ["${address}"]`)).toEqual([`3 gateway.upstream[0] ${message}`])
    expect(mistakes(`upstreams: { a: { targets: ["${address}"] } }`)).toEqual([
      `3 gateway.upstreams.a.targets[0] ${message}`,
    ])
  })

  it("is reported in one list, each mistake with its place", () => {
    expect(
      mistakes(`upstreams:
  a: { targets: [http://a], balnce: random }
  b: { targets: [], health: { path: nowhere } }
routes:
  - { upstream: a, pth: / }
tls: { cert: 1 }`),
    ).toEqual([
      "4 gateway.upstreams.a.balnce does not exist; did you mean balance?",
      "5 gateway.upstreams.b.targets must be a list of at least 1, got a list",
      "7 gateway.routes[0].pth does not exist; did you mean path?",
      "8 gateway.tls.cert must be a string, got 1",
    ])
    expect(
      mistakes(`upstreams:
  a: { targets: [http://a, https://b], health: { path: nowhere } }
  b: { targets: [http://b] }
routes:
  - { upstream: c, path: "/a/../b" }
  - { upstream: a, path: "/b?x", host: "a_b.*.c" }
  - { upstream: a, name: same }
  - { upstream: a, name: same, path: /api }
  - { upstream: b, path: /api/ }
tls: { cert: cert.pem }`),
    ).toEqual([
      "4 gateway.upstreams.a.targets must be all http or all https",
      '4 gateway.upstreams.a.health.path must be a path such as /healthz, got "nowhere"',
      "12 gateway.tls.key is required: a certificate needs its key, and a key its certificate",
      '7 gateway.routes[0].upstream must be one of a, b, got "c"',
      '7 gateway.routes[0].path must be written as /b, got "/a/../b"',
      '8 gateway.routes[1].path must be a path such as /api, got "/b?x"',
      '8 gateway.routes[1].host must have * only as its first label, like *.example.com, got "a_b.*.c"',
      '10 gateway.routes[3].name must be unique among the routes, got "same"',
      "11 gateway.routes[4] must have another host or path than every other route",
    ])
  })

  it("includes several upstreams without routes, and one upstream with two names", () => {
    expect(mistakes("upstreams: { a: { targets: [http://a] }, b: { targets: [http://b] } }")).toEqual([
      "1 gateway.routes is required when there are several upstreams",
    ])
    expect(mistakes("upstream: [http://a]\nupstreams: { default: { targets: [http://a] } }")).toEqual([
      "4 gateway.upstreams.default cannot be combined with gateway.upstream, which defines the same upstream",
    ])
  })

  it("is ignored while the gateway is off, except for invalid values", () => {
    expect(() => read([], "gateway: { port: 9000 }\n")).not.toThrow()
    expect(() => read([], "gateway: { upstream: [nowhere] }\n")).toThrow("gateway.upstream[0]")
  })
})
