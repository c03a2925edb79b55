import fastify, { type FastifyReply, type LightMyRequestResponse } from "fastify"
import { expect, it } from "vitest"
import { headerSetter } from "./fastify-headers.js"

const NAMES = [
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "ratelimit-policy",
  "ratelimit",
]

/** Headers with a value that tells which reply they are for. */
function headersOf(turn: number): string[] {
  return [...NAMES, "ratelimit-limit", "retry-after"].flatMap((name, i) => [name, `${turn}${i}`])
}

/** What each of three requests is answered, when a hook sets headers and the handler may look at the reply. */
async function answers(
  handle: (reply: FastifyReply) => unknown,
  before: (reply: FastifyReply) => void = () => undefined,
) {
  const app = fastify()
  const setHeaders = headerSetter()
  let turn = 0
  app.addHook("onRequest", (_request, reply, done) => {
    before(reply)
    setHeaders(reply, headersOf(turn++))
    done()
  })
  app.get("/", async (_request, reply) => handle(reply) ?? "hello")
  const responses: LightMyRequestResponse[] = []
  for (let i = 0; i < 3; i++) responses.push(await app.inject("/"))
  await app.close()
  return responses
}

it("sets every header on the first reply and on later ones", async () => {
  const responses = await answers(() => undefined)
  responses.forEach(({ headers }, turn) => {
    expect(headers).toMatchObject(Object.fromEntries(pairs(headersOf(turn))))
  })
})

it("asks reply.header only for other names, once it has seen where they go", async () => {
  const asked: string[] = []
  const app = fastify()
  const setHeaders = headerSetter()
  let isCounted = false
  app.get("/", async (_request, reply) => {
    if (!isCounted) countCalls(reply, asked)
    isCounted = true
    setHeaders(reply, headersOf(0))
    return "hello"
  })
  await app.inject("/")
  expect(asked.splice(0)).toEqual([...NAMES, "ratelimit-limit", "retry-after"])
  await app.inject("/")
  expect(asked.splice(0)).toEqual(["ratelimit-limit", "retry-after"])
  await app.close()
})

it("leaves them where the application can read, change and remove them", async () => {
  const responses = await answers((reply) => {
    reply.removeHeader("x-ratelimit-limit")
    reply.header("X-RateLimit-Reset", "changed")
    return reply.getHeader("ratelimit")
  })
  responses.forEach(({ headers, body }, turn) => {
    expect(body).toBe(`${turn}4`)
    expect(headers).not.toHaveProperty("x-ratelimit-limit")
    expect(headers["x-ratelimit-reset"]).toBe("changed")
    expect(headers["x-ratelimit-remaining"]).toBe(`${turn}1`)
  })
})

it("keeps the headers of hooks that ran before", async () => {
  const responses = await answers(
    () => undefined,
    (reply) => reply.header("x-before", "yes").header("ratelimit", "overwritten"),
  )
  responses.forEach(({ headers }, turn) => {
    expect(headers["x-before"]).toBe("yes")
    expect(headers.ratelimit).toBe(`${turn}4`)
  })
})

it("shows them to whoever has replaced reply.header on a reply", async () => {
  const seen: string[] = []
  let turn = 0
  const responses = await answers(
    () => undefined,
    (reply) => {
      if (turn++ === 0) return
      const header = reply.header.bind(reply)
      reply.header = ((name: string, value: unknown) => {
        seen.push(name)
        return header(name, value)
      }) as typeof reply.header
    },
  )
  expect(responses.map(({ headers }) => headers.ratelimit)).toEqual(["04", "14", "24"])
  expect(seen.filter((name) => NAMES.includes(name))).toEqual([...NAMES, ...NAMES])
})

it("stays with reply.header where it cannot see what becomes of headers", () => {
  const set: string[] = []
  const hidden = new Map<string, unknown>()
  const header = (name: string, value: unknown) => {
    hidden.set(name, value)
    set.push(name)
  }
  const setHeaders = headerSetter()
  for (let i = 0; i < 3; i++)
    setHeaders({ header, [Symbol("held")]: hidden } as unknown as FastifyReply, ["ratelimit", `${i}`])
  expect(set).toEqual(["ratelimit", "ratelimit", "ratelimit"])
  expect(hidden.get("ratelimit")).toBe("2")
})

it("stays with reply.header where headers are found in two places", () => {
  const set: string[] = []
  const setHeaders = headerSetter()
  const header = (name: string) => set.push(name)
  for (let i = 0; i < 3; i++) {
    const twice = { [Symbol("a")]: { ratelimit: "1" }, [Symbol("b")]: { ratelimit: "1" } }
    setHeaders({ header, ...twice } as unknown as FastifyReply, ["ratelimit", "1"])
  }
  expect(set).toHaveLength(3)
})

/** Notes the names that any reply of the same instance is asked to set. */
function countCalls(reply: FastifyReply, names: string[]): void {
  const prototype = Object.getPrototypeOf(reply) as FastifyReply
  const { header } = prototype
  prototype.header = function (this: FastifyReply, name: string, value: unknown) {
    names.push(name)
    return header.call(this, name, value)
  } as typeof header
}

function pairs(list: readonly string[]): [string, string][] {
  return list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string] as [string, string]] : []))
}
