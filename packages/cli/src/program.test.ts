import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { reservePort } from "../../../test/support/ports.js"
import { bin, buildCli, inTerminal, killAll, plainStyle, sluice, sluiceHere } from "./cli.test-support.js"
import { commands } from "./commands/index.js"
import { commandHelp } from "./help.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

beforeAll(buildCli, 60_000)
afterEach(killAll)

const specs = commands.map(({ spec }) => spec)
const names = specs.map(({ name }) => name)

describe("help", () => {
  it("takes less than 200 ms of CPU time, most of it the start of Node", () => {
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

  it.each(specs)("of $name has its usage and an example", async (spec) => {
    const { name } = spec
    const help = await commandHelp(spec, plainStyle)
    expect(help).toContain(`Usage: sluice ${name}`)
    expect(help).toMatch(new RegExp(`Examples:\\n  # .+\\n  .*sluice ${name}`))
  })

  it("is shown by --help after a command or a group, and by help before a command", async () => {
    const [after, before, group] = await Promise.all([
      sluice(["rules", "apply", "--help"]),
      sluice(["help", "rules", "apply"]),
      sluice(["rules", "--help"]),
    ])
    expect(after.stdout).toContain("Usage: sluice rules apply <rules> [options]")
    expect(before.stdout).toBe(after.stdout)
    expect(group.stdout).toContain("rollback")
    expect([after.code, before.code, group.code]).toEqual([0, 0, 0])
  })

  it("of serve lists every setting of the service", async () => {
    const { stdout } = await sluice(["serve", "--help"])
    expect(stdout).toContain("--store.max-keys <number>")
  })

  it("goes to standard error with status 2 when a command is missing", async () => {
    const [program, group] = await Promise.all([sluice([]), sluice(["rules"])])
    expect([program.code, program.stdout, group.code, group.stdout]).toEqual([2, "", 2, ""])
    expect(program.stderr).toContain("Usage: sluice <command>")
    expect(group.stderr).toContain("Usage: sluice rules <command>")
  })
})

describe("a mistake on the command line", () => {
  it.each([
    [["rulse"], "sluice: rulse: unknown command; did you mean rules? [USAGE_INVALID]\nSee: sluice --help\n"],
    [
      ["rules", "aply"],
      "sluice rules: aply: unknown command; did you mean rules apply? [USAGE_INVALID]\nSee: sluice rules --help\n",
    ],
    [["rules", "list", "--fil", "x"], "--fil: unknown option; did you mean --file? [USAGE_INVALID]"],
    [["--verson"], "--verson: unknown option; did you mean --version?"],
    [
      ["schema", "rles"],
      'what: must be one of rules, config, got "rles"; did you mean rules? [USAGE_INVALID]',
    ],
    [["rules", "apply"], "rules: is missing"],
    [["rules", "list", "more"], "more: unexpected argument"],
    [["keys", "block", "a", "b"], "--for: is required"],
    [
      ["keys", "block", "a", "b", "--for", "soon"],
      '--for: must be a duration such as "90s", "10m", "1h", got "soon"',
    ],
    [["keys", "top", "-n", "0"], '--limit: must be a whole number from 1 to 1000, got "0"'],
    [["keys", "top", "-n"], "--limit: needs a value: --limit <count>"],
    [["keys", "top", "--json=1"], "--json: takes no value"],
    [["rules", "list", "--url", "a", "--url", "b"], "--url: may be given only once, and was given 2 times"],
    [["rules", "list", "--url", "localhost:9090"], "--url: must be an address such as http://127.0.0.1:9090"],
    [
      ["rules", "list", "--url", "http://me:hunter2@localhost:9090"],
      '--url: must not contain a user or password; pass a token with --token, got "http://***@localhost:9090"',
    ],
    [
      ["check", "--url", "me:hunter2@localhost:8080", "user:a"],
      '--url: must be an address such as http://127.0.0.1:9090, got "***@localhost:8080"',
    ],
  ])("is reported without a stack, with status 2: %j", async (args, message) => {
    const { code, stdout, stderr } = await sluiceHere(args)
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toContain(message)
    expect(stderr).not.toContain("    at ")
  })
})

it("exits with status 2 for a mistake on the command line", async () => {
  expect(await sluice(["rules", "list", "--fil", "x"])).toEqual({
    code: 2,
    stdout: "",
    stderr:
      "sluice rules list: --fil: unknown option; did you mean --file? [USAGE_INVALID]\nSee: sluice rules list --help\n",
  })
})

it("prints its version", async () => {
  expect(await sluice(["--version"])).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" })
})

it("names the address of a service that does not answer, and exits with status 1", async () => {
  // The port is reserved, but nothing listens on it.
  const port = await reservePort()
  const url = `http://127.0.0.1:${port.port}`
  const { code, stderr } = await sluice(["rules", "list", "--url", url])
  expect([code, stderr]).toEqual([
    1,
    `sluice rules list: ${url}: does not answer (ECONNREFUSED); is the service running there? [SERVICE_UNREACHABLE]\n`,
  ])
  await port.release()
})

it("can be run by npx", () => {
  const cwd = fileURLToPath(new URL("../../../", import.meta.url))
  const { status, stdout } = spawnSync("npx", ["--no", "--", "sluice", "--version"], {
    cwd,
    encoding: "utf8",
  })
  expect([status, stdout]).toEqual([0, "0.1.0\n"])
})

it("exits without an error when the reader closes the pipe", () => {
  const { stdout, stderr } = spawnSync("bash", ["-c", `"${process.execPath}" "${bin}" schema | head -c 1`], {
    encoding: "utf8",
  })
  expect([stdout, stderr]).toEqual(["{", ""])
})

describe("colours", () => {
  it("are printed in terminals only", async () => {
    const terminal = inTerminal(["--help"])
    await terminal.ended
    expect(terminal.output()).toContain("\x1b[1mUsage:")
    expect((await sluice(["--help"])).stdout).not.toContain("\x1b")
  })

  it("are turned off by NO_COLOR and on by FORCE_COLOR", async () => {
    const terminal = inTerminal(["--help"], { env: { NO_COLOR: "1" } })
    await terminal.ended
    expect(terminal.output()).toContain("Usage:")
    expect(terminal.output()).not.toContain("\x1b[1m")
    expect((await sluice(["--help"], { env: { FORCE_COLOR: "1" } })).stdout).toContain("\x1b[1mUsage:")
  })
})
