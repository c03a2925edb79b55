import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SluiceError } from "../../errors.js"
import { parseRedisUrl, type RedisTarget, redactUrl } from "./url.js"

const plain: RedisTarget = {
  topology: "single",
  tls: false,
  addresses: [{ host: "localhost", port: 6379 }],
  username: undefined,
  password: undefined,
  database: 0,
  name: undefined,
}

function hosts(...names: string[]) {
  return names.map((name) => ({ host: name, port: 6379 }))
}

describe("a Redis URL", () => {
  it.each<[string, Partial<RedisTarget>]>([
    ["redis://localhost", {}],
    ["redis://localhost/", {}],
    ["redis://localhost:7000", { addresses: [{ host: "localhost", port: 7000 }] }],
    ["redis://localhost/3", { database: 3 }],
    ["rediss://localhost", { tls: true }],
    ["redis://[::1]", { addresses: hosts("::1") }],
    ["redis://[2001:db8::7]:7000", { addresses: [{ host: "2001:db8::7", port: 7000 }] }],
    ["redis://:secret@localhost", { password: "secret" }],
    ["redis://app@localhost", { username: "app" }],
    ["redis://app:secret@localhost:6379/2", { username: "app", password: "secret", database: 2 }],
    ["redis://app:p%40ss%2Fw%3Ard%25@localhost", { username: "app", password: "p@ss/w:rd%" }],
    ["redis://app:a:b@localhost", { username: "app", password: "a:b" }],
    [
      "redis+cluster://h1,h2:7000",
      { topology: "cluster", addresses: [...hosts("h1"), { host: "h2", port: 7000 }] },
    ],
    ["rediss+cluster://h1", { topology: "cluster", tls: true, addresses: hosts("h1") }],
    ["redis+ring://h1,h2,h3", { topology: "ring", addresses: hosts("h1", "h2", "h3") }],
    ["redis+ring://h1,h2/4", { topology: "ring", addresses: hosts("h1", "h2"), database: 4 }],
    [
      "redis+sentinel://h1,h2,[::1]/main",
      {
        topology: "sentinel",
        addresses: ["h1", "h2", "::1"].map((host) => ({ host, port: 26379 })),
        name: "main",
      },
    ],
    [
      "rediss+sentinel://:secret@h1:5000/my%20group",
      {
        topology: "sentinel",
        tls: true,
        addresses: [{ host: "h1", port: 5000 }],
        password: "secret",
        name: "my group",
      },
    ],
  ])("%s is understood", (url, expected) => {
    expect(parseRedisUrl(url)).toEqual({ ...plain, ...expected })
  })

  it.each([
    ["", "must look like"],
    ["localhost:6379", "must look like"],
    ["http://localhost", "must look like"],
    ["redis+proxy://h1", "must look like"],
    ["redis://", "must look like"],
    ["redis://host?db=2", "must look like"],
    ["redis://host/first", "must end in the number of a database"],
    ["redis://host/-1", "must end in the number of a database"],
    ["redis://host/0x1", "must end in the number of a database"],
    ["redis+ring://h1,h2/x", "must end in the number of a database"],
    ["redis://h1,h2", "must have one host"],
    ["redis+cluster://h1/0", "must not name a database"],
    ["redis+sentinel://h1,h2", "must name the group"],
    ["redis+sentinel://h1/main/2", "must name the group"],
    ["redis+sentinel://h1/%zz", "percent-encoded"],
    ["redis://a:%zz@h1", "percent-encoded"],
    ["redis://host:0", "must have hosts like"],
    ["redis://host:65536", "must have hosts like"],
    ["redis://host:port", "must have hosts like"],
    ["redis://::1", "must have hosts like"],
    ["redis+ring://h1,,h2", "must have hosts like"],
    ["redis+ring://h1, h 2", "must have hosts like"],
  ])("%j is refused: %s", (url, expected) => {
    const error = refusal(url)
    expect(error.code).toBe("REDIS_URL_INVALID")
    expect(error.message).toContain(expected)
  })

  it.each([undefined, null, 6379, new URL("redis://localhost"), {}])("%o is refused", (url) => {
    expect(refusal(url as string).code).toBe("REDIS_URL_INVALID")
  })
})

describe("a password", () => {
  // Everything that a URL gives a meaning to, unencoded: the usual mistake.
  const password = fc
    .string({ unit: fc.constantFrom(..."@:/?#%,[]{} \n+&=x"), minLength: 1, maxLength: 8 })
    .map((odd) => `hunter2${odd}S3cret`)
  const shapes = [
    (p: string) => `redis://:${p}@host`,
    (p: string) => `redis://app:${p}@host:6379/0`,
    (p: string) => `redis://app:${p}@host:99999`,
    (p: string) => `redis://app:${p}@host/x`,
    (p: string) => `rediss+sentinel://app:${p}@h1,h2`,
    (p: string) => `redis+cluster://${p}@h1,h2/0`,
    (p: string) => `app:${p}@host`,
    (p: string) => `REDIS://:${p}@host`,
    (p: string) => `redis://host?password=${p}`,
  ]

  it("is in no error, wherever it is in the URL and whatever it contains", () => {
    fc.assert(
      fc.property(password, fc.constantFrom(...shapes), (secret, shape) => {
        const url = shape(secret)
        for (const text of [redactUrl(url), told(url)]) {
          expect(text).not.toContain("hunter2")
          expect(text).not.toContain("S3cret")
        }
      }),
      { numRuns: 3_000 },
    )
  })

  it("that is encoded is decoded", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (secret) => {
        expect(parseRedisUrl(`redis://:${encodeURIComponent(secret)}@host`).password).toBe(secret)
      }),
    )
  })
})

/** All that an error tells anyone: its text, its fields, its causes. Of a target, the hosts: they end up in messages. */
function told(url: string): string {
  try {
    return JSON.stringify(parseRedisUrl(url).addresses)
  } catch (error) {
    const { message, stack, found, cause } = error as SluiceError
    return JSON.stringify([message, stack, found, String(cause)])
  }
}

function refusal(url: string): SluiceError {
  try {
    parseRedisUrl(url)
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
  throw new Error(`${url} was understood`)
}
