import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { testCore } from "../core.test-support.js"
import { startControl } from "./control-plane.test-support.js"

const page = readFileSync(new URL("../../../../docs/control-plane.md", import.meta.url), "utf8")

/** The code blocks of the page in a language. */
function blocksOf(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, block]) =>
    String(block),
  )
}

const HEADER = /^([\w-]+): (.*)$/

/** A request with its headers and body, an empty line, and the answer in the same form. */
function readExample(example: string) {
  const [request = "", answer = ""] = example.split("\n\n")
  const [first = "", ...lines] = request.split("\n")
  const [status, ...expected] = answer.trim().split("\n")
  const headersIn = (from: readonly string[]) =>
    Object.fromEntries(
      from.flatMap((line) => [HEADER.exec(line)?.slice(1) ?? []].filter(({ length }) => length > 0)),
    )
  const [method = "", path = ""] = first.split(" ")
  return {
    method,
    path,
    headers: headersIn(lines) as Record<string, string>,
    body: lines.find((line) => /^[{[]/.test(line)),
    answer: {
      status: Number(status),
      headers: headersIn(expected),
      body: expected.find((line) => /^[{[]/.test(line)),
    },
  }
}

it("docs/control-plane.md shows what the control plane really answers", async () => {
  const [rules = ""] = blocksOf("yaml")
  const control = await startControl({}, testCore(rules))
  const examples = blocksOf("http").map(readExample)
  expect(examples.length).toBeGreaterThan(4)
  const [shown, real] = [[] as object[], [] as object[]]
  for (const { method, path, headers, body, answer } of examples) {
    const given = await control.ask(method, path, { headers, body, ifMatch: headers["if-match"] ?? "" })
    const named = Object.keys(answer.headers).map((name) => [name, given.headers.get(name)])
    shown.push({ method, path, ...answer })
    real.push({ method, path, status: given.status, headers: Object.fromEntries(named), body: given.text })
  }
  await control.close()
  expect(real).toEqual(shown)
})

it("docs/control-plane.md names every path", async () => {
  const control = await startControl()
  const { json } = await control.ask("GET", "/openapi.json")
  await control.close()
  for (const path of Object.keys(json.paths)) {
    const [, first] = path.split("/")
    expect(page).toContain(`/${first}`)
  }
})
