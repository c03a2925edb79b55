import { once } from "node:events"
import { mkdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { parse } from "yaml"
import {
  buildCli,
  type Folder,
  killAll,
  sluice,
  sluiceHere,
  sluiceJson,
  startServiceHere,
  temporaryFolder,
} from "../../cli.test-support.js"
import { openLocation } from "./open-location.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const RULES = `# what we limit
version: 1
rules:
  # sign-ins
  - id: login
    match: { method: POST, path: /login }
    keyBy: ip
    limits: [{ algorithm: sliding-window-log, limit: 2, window: 15m }] # tight
  - id: api
    match: { path: /v1/** }
    keyBy: user
    mode: shadow
    limits: [{ limit: 100, window: 1m }]
`

let folder: Folder
let file: string

beforeAll(buildCli, 60_000)

beforeEach(() => {
  folder = temporaryFolder()
  file = folder.write("rules.yaml", RULES)
})

afterEach(async () => {
  await killAll()
  folder.remove()
})

interface Changed {
  readonly changed: boolean
  readonly revision: number
  readonly changes: object
}

// The same commands on a file, and on a service that follows such a file.
describe.each(["a file", "a service"])("the rules of %s", (where) => {
  /** Runs a command there. */
  let run: (args: readonly string[], input?: string) => ReturnType<typeof sluice>
  let runJson: <T>(args: readonly string[], input?: string) => Promise<T>

  beforeEach(async () => {
    if (where === "a file") {
      run = (args, input = "") => sluiceHere(["rules", ...args, "--file", file], { input })
      runJson = (args, input = "") => sluiceJson(["rules", ...args, "--file", file], { input }, sluiceHere)
    } else {
      const { env } = await startServiceHere(["--rules.file", file])
      run = (args, input = "") => sluiceHere(["rules", ...args], { env, input })
      runJson = (args, input = "") => sluiceJson(["rules", ...args], { env, input }, sluiceHere)
    }
  })

  const ids = async () => (await runJson<{ id: string }[]>(["list"])).map(({ id }) => id)

  it("are listed, one line each", async () => {
    const { code, stdout, stderr } = await run(["list"])
    expect(code).toBe(0)
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["RULE", "MODE", "MATCH", "KEY", "LIMITS"],
      ["login", "enforce", "POST /login", "ip", "2/15m sliding-window-log"],
      ["api", "shadow", "/v1/**", "user", "100/1m"],
      [""],
    ])
    expect(stderr).toContain("2 rules")
  })

  it("are shown one by one and as a whole", async () => {
    const login = parse((await run(["get", "login"])).stdout)
    expect(login).toEqual(parse(RULES).rules[0])
    expect(parse((await run(["get"])).stdout)).toEqual(parse(RULES))
    const unknown = await run(["get", "nope"])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain("[RULE_UNKNOWN]")
  })

  it("are changed by apply, which shows the change and keeps comments in the file", async () => {
    const { code, stdout, stderr } = await run(
      ["apply", "-", "-m", "more room"],
      RULES.replace("limit: 2,", "limit: 3,"),
    )
    expect(code).toBe(0)
    expect(stdout).toMatch(/: revision 2: 1 changed \(login\)\n$/)
    expect(stderr).toContain("-     limit: 2\n+     limit: 3\n")
    const text = readFileSync(file, "utf8")
    expect(text).toContain("limit: 3")
    expect(text).toContain("# sign-ins")
    expect(text).toContain("# tight")
    const history = (await run(["history"])).stdout
    expect(history).toMatch(/2 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}\S+ +1 changed \(login\) +more room\n/)
  })

  it("are not changed by a dry run or by identical rules", async () => {
    const dry = await runJson<Changed>(["apply", "-", "--dry-run"], RULES.replace("limit: 2,", "limit: 3,"))
    expect(dry).toMatchObject({ changed: false, changes: { changed: ["login"] } })
    expect(readFileSync(file, "utf8")).toBe(RULES)
    expect((await run(["apply", "-"], RULES)).stdout).toContain("nothing changed")
  })

  it("are replaced by apply, and extended by apply --merge", async () => {
    const one = "version: 1\nrules:\n  - { id: search, mode: shadow, limits: [{ limit: 5, window: 1s }] }\n"
    const login = "  - { id: login, limits: [{ limit: 9, window: 1m }] }\n"
    await run(["apply", "-", "--merge"], one + login)
    expect(await runJson<object[]>(["list"])).toMatchObject([
      { id: "login", limits: [{ limit: 9 }] },
      { id: "api" },
      { id: "search" },
    ])
    await run(["apply", "-"], one)
    expect(await ids()).toEqual(["search"])
  })

  it("are not changed by rules with mistakes, which are all reported", async () => {
    const { code, stderr } = await run(
      ["apply", "-"],
      RULES.replace("limit: 2,", "limit: 0,").replace("keyBy: user", "kyBy: user"),
    )
    expect(code).toBe(1)
    expect(stderr).toContain('rule "login": limits[0].limit must be an integer ≥ 1, got 0')
    expect(stderr).toContain('rule "api": kyBy does not exist; did you mean keyBy?')
    expect(readFileSync(file, "utf8")).toBe(RULES)
  })

  it("are deleted by id, and none of them if one id is unknown", async () => {
    const unknown = await run(["delete", "api", "logn"])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('has no rule "logn"; did you mean login? [RULE_UNKNOWN]')
    expect(await ids()).toEqual(["login", "api"])
    expect((await run(["delete", "api"])).code).toBe(0)
    expect(await ids()).toEqual(["login"])
  })

  it("are restored by a rollback, as a new revision", async () => {
    await run(["delete", "api"])
    expect(await runJson<Changed>(["rollback", "1", "-m", "denied too many"])).toMatchObject({
      changed: true,
      revision: 3,
    })
    expect(await ids()).toEqual(["login", "api"])
    expect((await runJson<{ revision: number }[]>(["history"])).map(({ revision }) => revision)).toEqual([
      3, 2, 1,
    ])
    expect(parse((await run(["get", "--revision", "2"])).stdout).rules).toHaveLength(1)
    const unknown = await run(["rollback", "9"])
    expect([unknown.code, /\[\w+\]/.exec(unknown.stderr)?.[0]]).toEqual([1, "[RULES_REVISION_UNKNOWN]"])
  })

  it("are compared with a file, with status 1 if they differ", async () => {
    expect(await run(["diff", "-"], RULES)).toMatchObject({ code: 0, stdout: "" })
    const { code, stdout } = await run(["diff", "-"], RULES.replace("100", "200"))
    expect(code).toBe(1)
    expect(stdout).toContain("@ rule api\n")
    expect(stdout).toContain("-   - limit: 100\n+   - limit: 200\n")
  })
})

it("a file is changed by a process that reads the new rules from a pipe", async () => {
  const run = (args: readonly string[], input = "") => sluice(["rules", ...args, "--file", file], { input })
  const applied = await run(["apply", "-"], RULES.replace("limit: 2,", "limit: 3,"))
  expect(applied).toMatchObject({ code: 0, stdout: expect.stringContaining("revision 2: 1 changed (login)") })
  const refused = await run(["apply", "-"], RULES.replace("limit: 2,", "limit: 0,"))
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("got 0") })
  expect((await run(["list"])).stdout).toContain("3/15m sliding-window-log")
})

it("two files are compared without a service", async () => {
  const other = folder.write(
    "other.yaml",
    RULES.replace("version: 1", "version: 1\ndefaults: { tier: free }"),
  )
  const { code, stdout } = await sluice(["rules", "diff", file, other])
  expect([code, stdout]).toEqual([1, "@ defaults\n+ tier: free\n"])
})

describe.each(["a file", "a service"])("a change of %s", (where) => {
  it("is refused if the rules have changed since they were read", async () => {
    const { env } = where === "a service" ? await startServiceHere(["--rules.file", file]) : { env: {} }
    const options = { file: where === "a file" ? file : undefined, url: undefined, token: undefined }
    const location = await openLocation({ options, env })
    const base = await location.read()
    await sluiceHere(["rules", "delete", "api", ...(where === "a file" ? ["--file", file] : [])], { env })
    const late = { ...base.document, rules: [] }
    await expect(location.replace(base, late, undefined)).rejects.toMatchObject({ code: "RULES_CONFLICT" })
    await expect(location.rollback(base, 1, undefined)).rejects.toMatchObject({ code: "RULES_CONFLICT" })
    expect((await location.read()).document.rules.map(({ id }) => id)).toEqual(["login"])
  })
})

it("an address where something other than Sluice answers is reported", async () => {
  const other = createServer((_request, response) => response.end("<html>")).listen(0, "127.0.0.1")
  await once(other, "listening")
  const { port } = other.address() as AddressInfo
  const { code, stderr } = await sluiceHere(["rules", "list", "--url", `http://127.0.0.1:${port}`])
  other.close()
  expect(code).toBe(1)
  expect(stderr).toContain("does not answer with JSON; is this the right address? [SERVICE_UNREACHABLE]")
})

describe("rules validate", () => {
  it("reports the mistakes of each file with their places, and calls no service", async () => {
    const bad = folder.write("bad.yaml", RULES.replace("limit: 2,", "limit: 0,"))
    const { code, stdout } = await sluiceHere(["rules", "validate", file, bad], {
      env: { SLUICE_URL: "http://nobody.invalid" },
    })
    expect(code).toBe(1)
    expect(stdout).toBe(
      `${file}: valid, 2 rules\n${bad}:8:54 rule "login": limits[0].limit must be an integer ≥ 1, got 0 [RULE_FIELD_INVALID]\n`,
    )
  })

  it("also asks the service with --url", async () => {
    const { env } = await startServiceHere(["--rules.file", file])
    const { code, stdout } = await sluiceHere(["rules", "validate", file, "--url", env.SLUICE_URL as string])
    expect([code, stdout]).toEqual([0, `${file}: valid, 2 rules\n`])
  })

  it("reports a missing file, and text that is not YAML", async () => {
    const missing = await sluiceHere(["rules", "validate", "/no/such/file"])
    expect([missing.code, missing.stderr]).toEqual([
      1,
      "sluice rules validate: /no/such/file: cannot be read (ENOENT) [RULES_IO]\n",
    ])
    const torn = await sluiceJson<{ valid: boolean; problems: { code: string }[] }[]>(
      ["rules", "validate", "-"],
      { input: "a: [" },
      sluiceHere,
    )
    expect([torn[0]?.valid, torn[0]?.problems[0]?.code]).toEqual([false, "RULES_SYNTAX"])
  })
})

describe("rules import", () => {
  const envoy =
    "domain: edge\ndescriptors:\n  - key: path\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n    detailed_metric: true\n"

  it("prints rules to standard output and notes to standard error", async () => {
    const { code, stdout, stderr } = await sluiceHere(["rules", "import", "-"], { input: envoy })
    expect(code).toBe(0)
    expect(parse(stdout)).toMatchObject({
      version: 1,
      rules: [{ match: { domain: "edge" }, limits: [{ limit: 5 }] }],
    })
    expect(stderr).toContain("5:22 descriptors[0].detailed_metric ")
    expect(stderr).toContain("1 rule, 1 note")
  })

  it("can be piped into apply", async () => {
    const { stdout } = await sluiceHere(["rules", "import", "-"], { input: envoy })
    const applied = await sluiceHere(["rules", "apply", "-", "--merge", "--file", file], { input: stdout })
    expect(applied.code).toBe(0)
    expect(parse(readFileSync(file, "utf8")).rules).toHaveLength(3)
  })

  it("reports every mistake with its line", async () => {
    const { code, stdout, stderr } = await sluiceHere(["rules", "import", "-"], {
      input: envoy.replace("minute", "minuet"),
    })
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toContain("4:")
    expect(stderr).toContain("[RULES_INVALID]")
  })
})

describe("a service with tokens", () => {
  const token = "a-token-that-is-long-enough"

  it("accepts a token from --token, SLUICE_TOKEN or a file, and refuses requests without one", async () => {
    const tokens = JSON.stringify([{ name: "ann", role: "admin", token }])
    const { env } = await startServiceHere(["--rules.file", file, "--control.tokens", tokens])
    const nobody = await sluiceHere(["rules", "list"], { env })
    expect(nobody.code).toBe(1)
    expect(nobody.stderr).toContain(
      "[TOKEN_REQUIRED]\nPass one with --token, SLUICE_TOKEN or SLUICE_TOKEN_FILE.",
    )
    const tokenFile = folder.write("token", `${token}\n`)
    const allowed = await Promise.all([
      sluiceHere(["rules", "list", "--token", token], { env }),
      sluiceHere(["rules", "list"], { env: { ...env, SLUICE_TOKEN: token } }),
      sluiceHere(["rules", "list"], { env: { ...env, SLUICE_TOKEN_FILE: tokenFile } }),
    ])
    expect(allowed.map(({ code }) => code)).toEqual([0, 0, 0])
    await sluiceHere(["rules", "delete", "api", "--token", token], { env })
    const history = await sluiceJson<{ changedBy: string }[]>(
      ["rules", "history"],
      { env: { ...env, SLUICE_TOKEN: token } },
      sluiceHere,
    )
    expect(history[0]?.changedBy).toBe("ann")
  })

  it("on this machine gets the token that it generated, which is sent to no other service", async () => {
    const own = `sluice_${"t".repeat(43)}`
    const tokens = JSON.stringify([{ name: "local", role: "admin", token: own }])
    const { env } = await startServiceHere(["--rules.file", file, "--control.tokens", tokens])
    const { port } = new URL(env.SLUICE_URL as string)
    mkdirSync(join(folder.path, "sluice"))
    folder.write(`sluice/control-${port}.token`, `${own}\n`)
    const environment = { ...env, XDG_STATE_HOME: folder.path }
    expect((await sluice(["rules", "list"], { env: environment })).code).toBe(0)
    // Only the loopback addresses are certain to be this machine.
    const elsewhere = `http://127.0.0.2:${port}`
    const asked: (string | undefined)[] = []
    const other = createServer((request, response) => {
      asked.push(request.headers.authorization)
      response.writeHead(404).end()
    }).listen(Number(port), "127.0.0.2")
    await once(other, "listening")
    await sluiceHere(["rules", "list", "--url", elsewhere], { env: environment })
    other.close()
    expect(asked).toEqual([undefined])
  })
})
