// Runs both sides of each migration that the pages show, and compares their answers with the page and so with each other.

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NestFactory } from "@nestjs/core"
import type { FastifyInstance } from "fastify"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { afterThis } from "../support/after-this.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { compile, makeProject } from "./compile.js"
import { type Pair, pages, pairsIn, readPage } from "./examples.js"
import { serveUpstash } from "./upstash-server.js"

/** What a side of a pair may define, and the test uses. */
interface Side {
  readonly app?: RequestListener | FastifyInstance
  readonly AppModule?: new () => object
  readonly allow?: (key: string) => Promise<boolean>
  readonly redis?: { disconnect(): void }
}

type Ask = (question: string) => Promise<string>

const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-migrating-")))
// Each side is a program of its own: sluice/fastify and @fastify/rate-limit declare the same type of a route.
const before = makeProject(join(folder, "before"))
const after = makeProject(join(folder, "after"))

const pairs = pages().flatMap((page) => pairsIn(page, readPage(page)))
const nameOf = ({ page, line }: Pair) => `${page.replaceAll(/\W/g, "-")}-line-${line}`

let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await server?.stop()
})

/** Writes a side as a module that exports what the test uses. */
function write(project: string, name: string, code: string): string {
  const names = [...code.matchAll(/^(?:const|class|async function) (app|AppModule|allow|redis)\b/gm)]
  const file = join(project, `${name}.ts`)
  writeFileSync(file, `${code}\nexport { ${names.map((match) => match[1]).join(", ")} }\n`)
  return file
}

/** Opens an application and returns a function that sends it a request: `GET /search x-api-key: a`. */
async function open({ app, AppModule, allow, redis }: Side): Promise<Ask> {
  if (redis !== undefined) afterThis(() => redis.disconnect())
  if (allow !== undefined) return async (key) => String(await allow(key))
  const url = AppModule !== undefined ? await openNest(AppModule) : await openApp(app)
  return async (question) => {
    const [, method = "", path, name, value = ""] = /^(\w+) (\S+)(?: ([\w-]+): (\S+))?$/.exec(question) ?? []
    const headers: Record<string, string> = name === undefined ? {} : { [name]: value }
    return String((await fetch(url + path, { method, headers })).status)
  }
}

async function openNest(module: new () => object): Promise<string> {
  const app = await NestFactory.create(module, { logger: false, forceCloseConnections: true })
  afterThis(() => app.close())
  await app.listen(0, "127.0.0.1")
  return await app.getUrl()
}

async function openApp(app: Side["app"]): Promise<string> {
  if (typeof app !== "function") {
    if (app === undefined) throw new Error("the example defines no app, AppModule or allow")
    afterThis(() => app.close())
    return await app.listen({ host: "127.0.0.1", port: 0 })
  }
  const listening = createServer(app).listen(0, "127.0.0.1")
  afterThis(() => {
    listening.closeAllConnections()
    listening.close()
  })
  await new Promise((resolve) => listening.once("listening", resolve))
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

async function answersOf(side: Side, questions: readonly string[]): Promise<string[]> {
  const ask = await open(side)
  const answers: string[] = []
  for (const line of questions) {
    const question = line.split(" → ")[0] as string
    answers.push(`${question} → ${await ask(question)}`)
  }
  return answers
}

describe.each(pairs)("$page, the pair in line $line", (pair) => {
  const name = nameOf(pair)

  it("answers before as the page says", async () => {
    vi.stubEnv("UPSTASH_REDIS_REST_URL", await serveUpstash(server.url))
    vi.stubEnv("UPSTASH_REDIS_REST_TOKEN", "none")
    const side: Side = await import(/* @vite-ignore */ write(before, name, pair.before))
    expect(await answersOf(side, pair.answers)).toEqual(pair.answers)
  })

  it("answers the same after", async () => {
    vi.stubEnv("REDIS_URL", server.url)
    const side: Side = await import(/* @vite-ignore */ write(after, name, pair.after))
    expect(await answersOf(side, pair.answers)).toEqual(pair.answers)
  })
})

describe("the pairs of the pages", () => {
  it("are there for each package that a page in docs/migrating is about", () => {
    const about = pages().filter((page) => page.startsWith("docs/migrating/"))
    const paired = new Set(pairs.map(({ page }) => page))
    expect(about.filter((page) => !paired.has(page))).toEqual(["docs/migrating/envoy.md"])
  })

  it.each([
    ["before", before],
    ["after", after],
  ] as const)("compile %s under the strict settings", (side, project) => {
    for (const pair of pairs) write(project, nameOf(pair), pair[side])
    expect(compile(project)).toEqual({ status: 0, stdout: "" })
  })
})
