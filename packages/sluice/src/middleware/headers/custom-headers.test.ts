import { describe, expect, it } from "vitest"
import { CustomHeaders, checkCustomHeaders } from "./custom-headers.js"

describe("custom headers", () => {
  it("take the place of a header that another one is renamed to", () => {
    const headers = new CustomHeaders({
      headerNames: { "x-ratelimit-limit": "x-limit" },
      extraHeaders: { "X-Limit": 7 },
    })
    expect(headers.apply(["x-ratelimit-limit", "5", "ratelimit", "r"], {}, {})).toEqual([
      ...["x-limit", "7"],
      ...["ratelimit", "r"],
    ])
  })

  it("leave a header out whose function returns undefined", () => {
    const headers = new CustomHeaders({ extraHeaders: { ratelimit: () => undefined } })
    expect(headers.apply(["ratelimit", "r"], {}, {})).toEqual([])
  })

  it.each([
    [{ headerNames: [] }, "rateLimit.headerNames: must be an object"],
    [{ headerNames: { a: true } }, 'rateLimit.headerNames["a"]: must be the name of a header, or false'],
    [{ headerNames: { a: "b c" } }, 'rateLimit.headerNames["a"]: '],
    [{ extraHeaders: { "a b": "c" } }, 'rateLimit.extraHeaders["a b"]: must be the name of a header'],
    [
      { extraHeaders: { a: "b\nc" } },
      'rateLimit.extraHeaders["a"]: must be printable ASCII or a finite number',
    ],
    [{ extraHeaders: { a: Number.NaN } }, 'rateLimit.extraHeaders["a"]: '],
    [{ extraHeaders: { a: {} } }, 'rateLimit.extraHeaders["a"]: '],
  ])("refuse %o", (options, message) => {
    expect(() => checkCustomHeaders(options as never)).toThrow(message)
  })
})
