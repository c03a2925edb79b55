import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { readConfig } from "../../packages/server/src/config/read.js"
import { deployText, repository, repositoryFiles } from "./deploy-files.js"
import {
  type Instruction,
  isSent,
  readCommand,
  readCopy,
  readDockerfile,
  readVariables,
} from "./dockerfile.js"

const stages = readDockerfile(deployText("Dockerfile"))
const ignore = deployText("Dockerfile.dockerignore")
const last = stages.at(-1) as (typeof stages)[number]

function all(name: string, instructions: readonly Instruction[] = last.instructions): string[] {
  return instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)
}

const files = repositoryFiles()

describe("the Dockerfile", () => {
  it("starts every stage from an image with a version, or from a stage above", () => {
    const names = stages.map(({ name }) => name)
    for (const [i, { from }] of stages.entries())
      expect(names.slice(0, i).includes(from) || /^node:\d\d-[a-z]+-slim$/.test(from), from).toBe(true)
  })

  it("runs a Node that the packages allow", () => {
    const { engines } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"))
    expect(engines.node).toBe(">=20.19")
    expect(Number(/^node:(\d+)/.exec(last.from)?.[1])).toBeGreaterThanOrEqual(22)
  })

  it("copies only files that exist, and that the .dockerignore lets through", () => {
    const copies = stages.flatMap(({ instructions }) => all("COPY", instructions).map(readCopy))
    const sources = copies.filter(({ from }) => from === undefined).flatMap((copy) => copy.sources)
    expect(sources).toContain("packages")
    for (const source of sources) {
      const met = files.filter((file) => file === source || file.startsWith(`${source}/`))
      expect(
        met.some((file) => isSent(ignore, file)),
        source,
      ).toBe(true)
    }
    for (const { from } of copies)
      if (from !== undefined) expect(stages.map(({ name }) => name)).toContain(from)
  })

  it("installs what the lockfile says, without running code of packages", () => {
    const installs = stages
      .flatMap(({ instructions }) => all("RUN", instructions))
      .filter((run) => /npm/.test(run))
    expect(installs).toHaveLength(2)
    for (const run of installs) expect(run).toMatch(/^npm ci --ignore-scripts/)
  })

  it("ends in an image without development dependencies, with an unprivileged user", () => {
    expect(all("USER")).toEqual(["1000:1000"])
    expect(all("COPY").map((rest) => readCopy(rest).from)).toEqual([
      "dependencies",
      "build",
      "build",
      "build",
      undefined,
    ])
    const dependencies = stages.find(({ name }) => name === "dependencies")
    expect(all("RUN", dependencies?.instructions).join()).toContain("--omit=dev")
  })

  it("sets variables that the configuration knows, and exposes the ports that result", () => {
    const { NODE_ENV, ...env } = readVariables(all("ENV").join(" "))
    const { config } = readConfig({ env, folder: "/nowhere" })
    expect(NODE_ENV).toBe("production")
    expect(config).toMatchObject({
      http: { host: "0.0.0.0" },
      grpc: { host: "0.0.0.0" },
      control: { host: "127.0.0.1" },
      gateway: { host: "0.0.0.0", enabled: false },
    })
    const { http, grpc, control, gateway } = config
    expect(all("EXPOSE").join(" ")).toBe(`${http.port} ${grpc.port} ${control.port} ${gateway.port}`)
  })

  it("starts the program itself, so that signals reach it", () => {
    expect(all("ENTRYPOINT").map(readCommand)).toEqual([["node", "packages/server/dist/main.js"]])
    expect(readCommand(all("HEALTHCHECK").join()).slice(0, 2)).toEqual(["node", "-e"])
  })
})

describe("the .dockerignore", () => {
  it("excludes everything that the Dockerfile does not copy", () => {
    const rooms = new Set(files.filter((file) => isSent(ignore, file)).map((file) => file.split("/")[0]))
    expect([...rooms].sort()).toEqual(
      [".npmrc", "package-lock.json", "package.json", "packages", "scripts", "tsconfig.base.json"].sort(),
    )
  })

  it.each([
    [".env", false],
    [".git/config", false],
    ["deploy/compose/tokens.json", false],
    ["packages/server/node_modules/x/index.js", false],
    ["packages/server/dist/main.js", false],
    ["packages/server/src/main.test.ts", false],
    ["packages/server/src/main.ts", true],
    ["scripts/build.mjs", true],
    ["scripts/test.mjs", false],
  ])("answers for %s: %s", (path, sent) => {
    expect(isSent(ignore, path)).toBe(sent)
  })
})
