// The Redis side of compose.yaml without containers: the same script and configuration files, with the names of containers
// replaced by addresses on this machine and their folders by folders of their own.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { eventually } from "../support/eventually.js"
import { LOOPBACK, type ReservedPort, reservePort } from "../support/ports.js"
import { callRedis } from "../support/redis/resp-connection.js"
import { closeRoom, openRoom, setOccupant } from "../support/sandbox.js"
import { toolPath } from "../support/tool.js"
import { deployText } from "./deploy-files.js"

const NAMES = ["redis-1", "redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"]

export class ComposeOnLoopback {
  readonly #ports: ReadonlyMap<string, ReservedPort>
  readonly #rooms = new Map<string, string>()
  readonly #running = new Map<string, ChildProcess>()

  private constructor(ports: ReadonlyMap<string, ReservedPort>) {
    this.#ports = ports
  }

  static async open(): Promise<ComposeOnLoopback> {
    const ports = new Map<string, ReservedPort>()
    for (const name of NAMES) ports.set(name, await reservePort())
    return new ComposeOnLoopback(ports)
  }

  async start(): Promise<void> {
    for (const name of NAMES) this.#furnish(name)
    for (const name of NAMES.slice(0, 3)) this.run(name)
    // Sentinels wait for healthy servers in compose.yaml too. A replica that they do not see at first waits for 10 s.
    const online = async () => String(await this.ask("redis-1", "INFO", "replication")).match(/state=online/g)
    await eventually(async () => (await online())?.length === 2, {
      within: 20_000,
      what: "both replicas follow",
    })
    for (const name of NAMES.slice(3)) this.run(name)
  }

  port(name: string): number {
    return (this.#ports.get(name) as ReservedPort).port
  }

  ask(name: string, ...command: string[]) {
    return callRedis({ host: LOOPBACK, port: this.port(name) }, command)
  }

  /** What a container with this name runs. */
  run(name: string): void {
    const room = this.#rooms.get(name) as string
    const script = name.startsWith("redis") ? "start-redis.sh" : "start-sentinel.sh"
    const child = spawn("sh", [join(room, "etc", script)], {
      env: { ...process.env, PATH: `${join(room, "bin")}${delimiter}${process.env.PATH}` },
      stdio: "ignore",
    })
    this.#running.set(name, child)
    setOccupant(room, child.pid)
  }

  async kill(name: string): Promise<void> {
    const child = this.#running.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
    setOccupant(this.#rooms.get(name) as string, undefined)
  }

  async stop(): Promise<void> {
    for (const name of NAMES) {
      await this.kill(name)
      closeRoom(this.#rooms.get(name) as string)
      await this.#ports.get(name)?.release()
    }
  }

  /** Text of a file with addresses on this machine in place of names. */
  translated(text: string, room = ""): string {
    return text
      .replaceAll(/\/(data|etc)\//g, `${room}/$1/`)
      .replaceAll(/^dir \/data$/gm, `dir ${room}/data`)
      .replaceAll(/(redis-\d) 6379/g, (_, name: string) => `${LOOPBACK} ${this.port(name)}`)
      .replaceAll(/(sentinel-\d)(?=[,/])/g, (name) => `${LOOPBACK}:${this.port(name)}`)
      .replaceAll("replica-announce-ip $(hostname)", `replica-announce-ip ${LOOPBACK}`)
  }

  #furnish(name: string): void {
    const room = openRoom(name)
    this.#rooms.set(name, room)
    for (const folder of ["data", "etc", "bin"]) mkdirSync(join(room, folder))
    const put = (path: string, text: string) => {
      writeFileSync(join(room, path), text)
      chmodSync(join(room, path), 0o755)
    }
    put("bin/hostname", `#!/bin/sh\necho ${name}\n`)
    put("bin/redis-server", `#!/bin/sh\nexec ${toolPath("redis-server")} "$@"\n`)
    put("bin/redis-sentinel", `#!/bin/sh\nexec ${toolPath("redis-server")} "$@" --sentinel\n`)
    const own = `\nbind ${LOOPBACK}\nport ${this.port(name)}\n`
    put("etc/redis.conf", this.translated(deployText("compose/redis.conf"), room) + own)
    const sentinel = deployText("compose/sentinel.conf").replace(/^port .*$/m, "")
    put("etc/sentinel.conf", own + this.translated(sentinel, room))
    put("etc/start-redis.sh", this.translated(deployText("compose/start-redis.sh"), room))
    put("etc/start-sentinel.sh", this.translated(sentinelCommand(), room))
  }
}

/** What compose.yaml has a Sentinel run. */
function sentinelCommand(): string {
  const [, command = ""] = /"(\[ -f [^"]*)"/.exec(deployText("compose/compose.yaml")) ?? []
  return command
}
