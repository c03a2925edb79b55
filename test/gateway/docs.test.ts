// docs/gateway.md shows what the gateway really does.

import { exec, execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { parse } from "yaml"
import { configSchema } from "../../packages/server/src/config/schema.js"
import { jsonLine } from "../../packages/server/src/gateway/access-log/access-log.js"
import { fromRoot, readPage } from "../docs/examples.js"
import { toolPath } from "../support/tool.js"
import { openBackend, openGateway } from "./bed.js"

const page = readPage("docs/gateway.md")

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (match) => match[1] as string,
  )
}

it("answers the commands of the page as the page shows", async () => {
  const [rules] = blocks("yaml")
  const [session] = blocks("console")
  const backend = await openBackend((_request, response) => response.end("from the application"))
  const gateway = await openGateway({ upstream: backend, rules: rules ?? "", isTimeStopped: true })
  const steps = [...(session ?? "").matchAll(/^\$ (.+)\n((?:(?!\$ ).*\n)*)/gm)]
  expect(steps.length).toBe(3)
  for (const [, command = "", shown = ""] of steps) {
    const asked = command
      .replace("http://localhost:8000", gateway.url)
      .replace(/^curl /, `'${toolPath("curl")}' `)
    const { stdout } = await promisify(exec)(asked)
    expect(stdout.trim()).toBe(shown.trim())
  }
  expect(backend.seen).toEqual(["GET /v1/items", "POST /login"])
})

it("has a valid configuration", () => {
  const { gateway } = configSchema.parse(parse(blocks("yaml")[1] ?? ""))
  expect(Object.keys(gateway.upstreams)).toEqual(["shop", "images"])
  expect(gateway.routes).toHaveLength(3)
})

it("names every problem that the gateway answers with, and its status", () => {
  const source = readFileSync(fromRoot("packages/server/src/gateway/front/problems.ts"), "utf8")
  const known = [...source.matchAll(/^ {2}([A-Z_]+): \[(\d+),/gm)].map(([, code, status]) => [code, status])
  expect(known.length).toBeGreaterThan(10)
  // The answer of the rules to a request that has a key twice.
  known.push(["KEY_AMBIGUOUS", "400"])
  const rows = page.split("\n").filter((line) => /^\| \d{3} \|/.test(line))
  const shown = rows.flatMap((row) => {
    const [, status = "", codes = ""] = row.split("|")
    return [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code, status.trim()])
  })
  for (const pair of shown) expect(known).toContainEqual(pair)
  expect(shown).toHaveLength(known.length)
})

it("shows a line of the access log with the fields that it has", () => {
  const shown = JSON.parse(blocks("json")[0] ?? "{}") as Record<string, unknown>
  const line = jsonLine(
    {
      route: { name: "shop.example.com/" } as never,
      target: undefined,
      method: "POST",
      host: "shop.example.com",
      path: "/login",
      httpVersion: "1.1",
      clientIp: "203.0.113.7",
      referer: undefined,
      userAgent: "curl/8.5.0",
      status: 429,
      bytesIn: 0,
      bytesOut: 216,
      durationMs: 0.3,
      upstreamMs: undefined,
      queuedMs: 0,
      decision: { allowed: false, reason: "limit", rule: "login" } as never,
      error: undefined,
    },
    Date.UTC(2026, 0, 1) + 0.3,
  )
  expect(JSON.parse(line)).toEqual(shown)
})

it("names every metric", () => {
  const named = new Set(page.match(/sluice_gateway_[a-z_]+/g))
  const sources = execFileSync("grep", ["-rhoE", "sluice_gateway_[a-z_]+", fromRoot("packages/server/src")])
  const families = sources.toString().replace(/_(?:bucket|count|sum)$/gm, "")
  expect(new Set(families.trim().split("\n"))).toEqual(named)
})
