import { describe, expect, it } from "vitest"
import { readFlags } from "../../packages/server/src/config/flags.js"
import { readConfig } from "../../packages/server/src/config/read.js"
import { deployText, filesIn } from "./deploy-files.js"

/** `Section.Name` → value of a unit. */
function unit(name: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  let section = ""
  for (const line of deployText(`systemd/${name}`).split("\n")) {
    if (line === "" || line.startsWith("#")) continue
    const [, header] = /^\[(\w+)\]$/.exec(line) ?? []
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    if (header !== undefined) section = header
    else if (key !== undefined && value !== undefined) values.set(`${section}.${key}`, value)
    else throw new Error(`${name}: ${line}`)
  }
  return values
}

const { drain, gateway } = readConfig({ folder: "/nowhere" }).config

describe("the units of the gateway", () => {
  it("are a socket and the service of the same name", () => {
    expect(filesIn("systemd")).toEqual(["systemd/sluice-gateway.service", "systemd/sluice-gateway.socket"])
  })

  it("start it with valid flags, on its default port", () => {
    const [node, program, ...args] = (unit("sluice-gateway.service").get("Service.ExecStart") ?? "").split(
      " ",
    )
    expect([node, program]).toEqual(["/usr/bin/node", "packages/server/dist/main.js"])
    const flags = readFlags(args)
    expect(flags).toMatchObject({ command: "gateway", problems: [], file: "/etc/sluice/sluice.config.yaml" })
    expect(unit("sluice-gateway.socket").get("Socket.ListenStream")).toBe(`0.0.0.0:${gateway.port}`)
  })

  it("reload it by SIGHUP, and stop it no earlier than its drain ends", () => {
    const service = unit("sluice-gateway.service")
    expect(service.get("Service.ExecReload")).toBe("/bin/kill -HUP $MAINPID")
    expect(Number(service.get("Service.TimeoutStopSec")) * 1000).toBeGreaterThan(drain.delay + drain.deadline)
  })

  it("keep the socket while the service restarts", () => {
    const service = unit("sluice-gateway.service")
    expect(service.get("Unit.Requires")).toBe("sluice-gateway.socket")
    // With it, systemd would hand over connections instead of the socket.
    expect(unit("sluice-gateway.socket").get("Socket.Accept")).toBeUndefined()
  })
})
