import { expect, it } from "vitest"
import { keyslot } from "./keyslot.js"

// From the Redis Cluster specification and from CLUSTER KEYSLOT; test/redis/keyslot.test.ts asks a server about many more.
it.each([
  ["123456789", 12739],
  ["foo", 12182],
  ["{user1000}.following", 3443],
  ["{user1000}.followers", 3443],
  ["foo{}{bar}", 8363],
  ["foo{{bar}}zap", 4015],
  ["foo{bar}{zap}", 5061],
  ["", 0],
])("the slot of %j is %i", (key, slot) => {
  expect(keyslot(key)).toBe(slot)
})
