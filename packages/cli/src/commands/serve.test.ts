import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { buildCli, type Folder, killAll, sluice, startService, temporaryFolder } from "../cli.test-support.js"

// Each test starts processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

let folder: Folder

beforeAll(buildCli, 60_000)

beforeEach(() => {
  folder = temporaryFolder()
})

afterEach(async () => {
  await killAll()
  folder.remove()
})

const RULES =
  "version: 1\nrules:\n  - { id: all, limits: [{ algorithm: sliding-window-log, limit: 2, window: 1h }] }\n"

describe("serve", () => {
  it("runs the service, and exits with 0 on SIGTERM", async () => {
    const { child, url, ended, stdout } = await startService([
      "--rules.file",
      folder.write("rules.yaml", RULES),
    ])
    const answer = await fetch(`${url}/v1/check`, { method: "POST", body: '{"ip":"192.0.2.1"}' })
    expect(await answer.json()).toMatchObject({ allowed: true, rule: "all", remaining: 1 })
    expect(stdout()).toContain(`Sluice listens on ${url}`)
    child.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })

  it("answers with several workers", async () => {
    const { url } = await startService(["--workers", "2", "--rules.file", folder.write("rules.yaml", RULES)])
    const answer = await fetch(`${url}/v1/check`, { method: "POST", body: '{"ip":"192.0.2.1"}' })
    expect(await answer.json()).toMatchObject({ allowed: true, remaining: 1 })
  })

  it("accepts the variables that are meant for other commands", async () => {
    const { code, stdout } = await sluice(["serve", "--print-config"], {
      env: {
        SLUICE_URL: "http://x:1",
        SLUICE_DATA_URL: "http://x:2",
        SLUICE_TOKEN: "t",
        SLUICE_HTTP__PORT: "1234",
      },
      cwd: folder.path,
    })
    expect(code).toBe(0)
    expect(stdout).toContain("port: 1234")
  })

  it("exits with 2 for a mistake on the command line, and with 1 for a mistake in a file", async () => {
    const flag = await sluice(["serve", "--http.prt", "1"], { cwd: folder.path })
    expect(flag.code).toBe(2)
    expect(flag.stderr).toContain("--http.prt does not exist; did you mean --http.port?")
    folder.write("sluice.config.yaml", "htp: {}\n")
    const file = await sluice(["serve"], { cwd: folder.path })
    expect(file.code).toBe(1)
    expect(file.stderr).toContain("htp does not exist; did you mean http?")
  })

  it("names a port that is in use, without a stack, and exits with 1", async () => {
    const { addresses } = await startService()
    const { code, stderr } = await sluice([
      "serve",
      "--http.port",
      addresses.http?.split(":")[1] as string,
      "--control.port=0",
      "--grpc.port=0",
    ])
    expect(code).toBe(1)
    expect(stderr).toContain("is taken by another program")
    expect(stderr).not.toContain("    at ")
  })
})

describe("gateway", () => {
  let application: Server

  beforeEach(async () => {
    application = createServer((_request, response) => response.end("from the application")).listen(
      0,
      "127.0.0.1",
    )
    await once(application, "listening")
  })

  afterEach(() => {
    application.close()
  })

  it("forwards allowed requests, and answers denied ones itself", async () => {
    const { port } = application.address() as AddressInfo
    const rules = folder.write("rules.yaml", RULES)
    const { addresses, child, ended } = await startService(
      ["--upstream", `http://127.0.0.1:${port}`, "--rules", rules],
      ["gateway", "--gateway.port=0", "--control.port=0"],
    )
    const answers: [number, string][] = []
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`http://${addresses.gateway}/`)
      answers.push([answer.status, (await answer.text()).slice(0, 20)])
    }
    expect(answers.map(([status]) => status)).toEqual([200, 200, 429])
    expect(answers[0]?.[1]).toBe("from the application")
    child.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
  })
})
