import { expect, it } from "vitest"
import { clientOf } from "./client-of.js"

it("finds the client in a key, wherever it stands", () => {
  expect(clientOf("user:42")).toBe("user:42")
  expect(clientOf("ip:2001:db8::/64")).toBe("ip:2001:db8::/64")
  expect(clientOf("route:/v1/items/:id,apiKey:abc")).toBe("apiKey:abc")
})

it("finds none in a key that counts everybody, or something else", () => {
  expect(clientOf("global")).toBeUndefined()
  expect(clientOf("header:x-tenant:acme")).toBeUndefined()
})
