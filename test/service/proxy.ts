// A proxy from Debian's packages, as the page configures it, in front of a real application.

import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type IncomingMessage, request } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { readPage } from "../docs/examples.js"
import { eventually } from "../support/eventually.js"
import { LOOPBACK, reservePort } from "../support/ports.js"
import { closeRoom, openRoom, setOccupant } from "../support/sandbox.js"

/** The blocks of docs/service.md in this language, in order. */
export function blocksOf(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm")
  return [...readPage("docs/service.md").matchAll(fence)].map((match) => match[1] as string)
}

export interface Application {
  readonly port: number
  readonly seen: readonly {
    readonly method: string | undefined
    readonly url: string | undefined
    readonly body: string
  }[]
  close(): Promise<void>
}

/** Answers everything with 200, but `/forbidden`, which is its own 403. */
export async function startApplication(): Promise<Application> {
  const seen: { method: string | undefined; url: string | undefined; body: string }[] = []
  const server = createServer(async (asked, response) => {
    const body = await textOf(asked)
    seen.push({ method: asked.method, url: asked.url, body })
    response.writeHead(asked.url === "/forbidden" ? 403 : 200)
    response.end("from the application")
  })
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface ProxyProcess {
  readonly port: number
  log(): string
  stop(): Promise<void>
}

/** Starts a program that listens on a port of its own, and waits until something answers there. */
export async function startProxy(
  program: string,
  files: (room: string, port: number) => Record<string, string>,
  args: (room: string) => readonly string[],
): Promise<ProxyProcess> {
  const reserved = await reservePort()
  const { port } = reserved
  const room = openRoom("proxy")
  for (const [name, text] of Object.entries(files(room, port))) writeFileSync(join(room, name), text)
  const log = openSync(join(room, "log"), "a")
  const child = spawn(program, args(room), {
    cwd: room,
    stdio: ["ignore", log, log],
    // Caddy stores its state in these folders.
    env: { ...process.env, HOME: room, XDG_CONFIG_HOME: room, XDG_DATA_HOME: room },
  })
  closeSync(log)
  setOccupant(room, child.pid)
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
    child.once("error", () => resolve())
  })
  const proxy = {
    port,
    log: () => readFileSync(join(room, "log"), "utf8"),
    async stop() {
      child.kill("SIGKILL")
      await ended
      setOccupant(room, undefined)
      closeRoom(room)
      await reserved.release()
    },
  }
  try {
    await eventually(() => hasEnded(child) || isAnswering(port), {
      within: 20_000,
      what: `${program} answers`,
    })
    if (hasEnded(child)) throw new Error(`${program} ended`)
  } catch (error) {
    const words = proxy.log()
    await proxy.stop()
    throw new Error(`${error instanceof Error ? error.message : error}; its log:\n${words}`)
  }
  return proxy
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function isAnswering(port: number): Promise<boolean> {
  return (await ask(port, { path: "/is-it-there" })).status > 0
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface AskOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A request whose path is sent unchanged. */
export function ask(
  port: number,
  { method = "GET", path = "/", headers = {}, body }: AskOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: LOOPBACK, port, method, path, headers, agent: false }, async (response) => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: await textOf(response) })
    })
    asked.once("error", reject)
    asked.end(body)
  })
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = ""
  for await (const chunk of message.setEncoding("utf8")) text += chunk
  return text
}
