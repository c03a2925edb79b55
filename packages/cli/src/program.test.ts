import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { reservePort } from "../../../test/support/ports.js"
import { catalog } from "./catalog/index.js"
import { bin, buildCli, inTerminal, killAll, sluice, sluiceHere } from "./cli.test-support.js"
import { commandHelp } from "./help.js"
import { createStyle } from "./style.js"

// Each test starts processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000 })

beforeAll(buildCli, 60_000)
afterEach(killAll)

const names = catalog.map(({ spec }) => spec.name)

describe("help", () => {
  it("costs less than 200 ms, most of them Node's own", () => {
    // CPU time, because other tests run at the same time.
    const report =
      'data:text/javascript,process.on("exit",()=>{const{user,system}=process.cpuUsage();process.stderr.write(String((user+system)/1000))})'
    const costs = Array.from({ length: 5 }, () => {
      const { stderr } = spawnSync(process.execPath, ["--import", report, bin, "--help"], {
        encoding: "utf8",
      })
      return Number(stderr)
    })
    expect(Math.min(...costs)).toBeGreaterThan(1)
    expect(Math.min(...costs)).toBeLessThan(200)
  })

  it("names every command, on standard output, with status 0", async () => {
    const { code, stdout, stderr } = await sluice(["--help"])
    expect([code, stderr]).toEqual([0, ""])
    for (const word of names.flatMap((name) => name.split(" "))) expect(stdout).toContain(word)
  })

  it.each(names)("of %s has its usage and an example of it", async (name) => {
    const command = catalog.find(({ spec }) => spec.name === name)
    const help = await commandHelp(command?.spec as (typeof catalog)[0]["spec"], createStyle(false))
    expect(help).toContain(`Usage: sluice ${name}`)
    expect(help).toMatch(new RegExp(`Examples:\\n  # .+\\n  .*sluice ${name}`))
  })

  it("is found behind a command, before it, and behind a group", async () => {
    const [behind, before, group] = await Promise.all([
      sluice(["rules", "apply", "--help"]),
      sluice(["help", "rules", "apply"]),
      sluice(["rules", "--help"]),
    ])
    expect(behind.stdout).toContain("Usage: sluice rules apply <rules> [options]")
    expect(before.stdout).toBe(behind.stdout)
    expect(group.stdout).toContain("rollback")
    expect([behind.code, before.code, group.code]).toEqual([0, 0, 0])
  })

  it("of serve lists every setting of the service", async () => {
    const { stdout } = await sluice(["serve", "--help"])
    expect(stdout).toContain("--store.max-keys <number>")
  })

  it("is no result when nobody asked for it: standard error, status 2", async () => {
    const [program, group] = await Promise.all([sluice([]), sluice(["rules"])])
    expect([program.code, program.stdout, group.code, group.stdout]).toEqual([2, "", 2, ""])
    expect(program.stderr).toContain("Usage: sluice <command>")
    expect(group.stderr).toContain("Usage: sluice rules <command>")
  })
})

describe("a mistake on the command line", () => {
  it.each([
    [["rulse"], "sluice: rulse: does not exist; did you mean rules? [USAGE_INVALID]\nSee: sluice --help\n"],
    [
      ["rules", "aply"],
      "sluice rules: aply: does not exist; did you mean rules apply? [USAGE_INVALID]\nSee: sluice rules --help\n",
    ],
    [["rules", "list", "--fil", "x"], "--fil: does not exist; did you mean --file? [USAGE_INVALID]"],
    [["--verson"], "--verson: does not exist; did you mean --version?"],
    [
      ["schema", "rles"],
      'what: must be one of rules, config, got "rles"; did you mean rules? [USAGE_INVALID]',
    ],
    [["rules", "apply"], "rules: is missing"],
    [["rules", "list", "more"], "more: is one argument too many"],
    [["keys", "block", "a", "b"], "--for: is required"],
    [
      ["keys", "block", "a", "b", "--for", "soon"],
      '--for: must be a duration such as "90s", "10m", "1h", got "soon"',
    ],
    [["keys", "top", "-n", "0"], '--limit: must be a whole number from 1 to 1000, got "0"'],
    [["keys", "top", "-n"], "--limit: needs a value: --limit <count>"],
    [["keys", "top", "--json=1"], "--json: takes no value"],
    [["rules", "list", "--url", "a", "--url", "b"], "--url: is there 2 times, and may be there once"],
    [["rules", "list", "--url", "localhost:9090"], "--url: must be an address such as http://127.0.0.1:9090"],
    [
      ["rules", "list", "--url", "http://me:hunter2@localhost:9090"],
      '--url: must not hold a user or password; a token is given with --token, got "http://***@localhost:9090"',
    ],
    [
      ["check", "--url", "me:hunter2@localhost:8080", "user:a"],
      '--url: must be an address such as http://127.0.0.1:9090, got "***@localhost:8080"',
    ],
  ])("is told in its own words, with status 2: %j", async (args, message) => {
    const { code, stdout, stderr } = await sluiceHere(args)
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toContain(message)
    expect(stderr).not.toContain("    at ")
  })
})

it("ends with the status that it says", async () => {
  expect(await sluice(["rules", "list", "--fil", "x"])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "sluice rules list: --fil: does not exist; did you mean --file? [USAGE_INVALID]\nSee: sluice rules list --help\n",
  })
})

it("prints its version", async () => {
  expect(await sluice(["--version"])).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" })
})

it("says where a service should be that does not answer, with status 1", async () => {
  // Held, but nobody listens on it.
  const port = await reservePort()
  const url = `http://127.0.0.1:${port.port}`
  const { code, stderr } = await sluice(["rules", "list", "--url", url])
  expect([code, stderr]).toEqual([
    1,
    `sluice rules list: ${url}: does not answer (ECONNREFUSED); is the service running there? [SERVICE_UNREACHABLE]\n`,
  ])
  await port.release()
})

it("is found by npx", () => {
  const cwd = fileURLToPath(new URL("../../../", import.meta.url))
  const { status, stdout } = spawnSync("npx", ["--no", "--", "sluice", "--version"], {
    cwd,
    encoding: "utf8",
  })
  expect([status, stdout]).toEqual([0, "0.1.0\n"])
})

it("ends quietly when its reader has seen enough", () => {
  const { stdout, stderr } = spawnSync("bash", ["-c", `"${process.execPath}" "${bin}" schema | head -c 1`], {
    encoding: "utf8",
  })
  expect([stdout, stderr]).toEqual(["{", ""])
})

describe("colours", () => {
  it("are for terminals", async () => {
    const terminal = inTerminal(["--help"])
    await terminal.ended
    expect(terminal.output()).toContain("\x1b[1mUsage:")
    expect((await sluice(["--help"])).stdout).not.toContain("\x1b")
  })

  it("are left out with NO_COLOR, and there with FORCE_COLOR", async () => {
    const terminal = inTerminal(["--help"], { env: { NO_COLOR: "1" } })
    await terminal.ended
    expect(terminal.output()).toContain("Usage:")
    expect(terminal.output()).not.toContain("\x1b[1m")
    expect((await sluice(["--help"], { env: { FORCE_COLOR: "1" } })).stdout).toContain("\x1b[1mUsage:")
  })
})
