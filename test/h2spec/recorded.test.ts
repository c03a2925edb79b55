import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readConversations } from "./conversation.js"
import { replay } from "./replay.js"
import { SERVERS, type Target } from "./servers.js"

const conversations = readConversations()

// What h2spec has accepted: `npm run test:h2spec` runs h2spec itself, which needs Go.
describe.each(Object.entries(SERVERS))("%s says what h2spec accepts", (server, start) => {
  const own = conversations.filter((conversation) => conversation.server === server)
  const reactions = new Map<string, readonly string[]>()
  let target: Target

  beforeAll(async () => {
    target = await start()
    await Promise.all(own.map(async (one) => reactions.set(one.id, await replay(one, target.port))))
  })

  afterAll(() => target.close())

  it.each(own.map((one) => [`${one.id}: ${one.title}`, one] as const))("%s", (_, { id, reaction }) => {
    expect(reactions.get(id)).toEqual(reaction)
  })

  it("in as many cases as have passed, without an error of its own", () => {
    expect(own.length).toBeGreaterThanOrEqual(server === "grpc" ? 130 : 146)
    expect(target.errors).toEqual([])
  })
})
