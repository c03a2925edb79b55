// Sets the headers of fastify's replies. `reply.header` takes any name, so the engine looks each of ours up among all names
// it has met there, twice: for three headers that is longer than the check of a limit. Written with names that the engine
// knows beforehand it is a third of that, so after the first reply they are put where `reply.header` was seen to put them.

import type { FastifyReply } from "fastify"

type SetHeaders = (reply: FastifyReply, headers: readonly string[]) => void
type Header = FastifyReply["header"]
type Held = Record<string, unknown>

/** One per hook, because each hook belongs to one instance of fastify. `headers`: name, value, name, value. */
export function headerSetter(): SetHeaders {
  let isFirst = true
  let place: symbol | undefined
  /** Another one may look at headers, and has to see ours. */
  let usual: Header | undefined
  return (reply, headers) => {
    const held = place !== undefined && reply.header === usual ? heldAt(reply, place) : undefined
    if (held !== undefined) {
      for (let i = 0; i < headers.length; i += 2)
        put(reply, held, headers[i] as string, headers[i + 1] as string)
      return
    }
    for (let i = 0; i < headers.length; i += 2) reply.header(headers[i] as string, headers[i + 1] as string)
    if (isFirst && headers.length > 0) {
      isFirst = false
      usual = reply.header
      place = placeOf(reply, headers[0] as string, headers[1] as string)
    }
  }
}

function put(reply: FastifyReply, held: Held, name: string, value: string): void {
  switch (name) {
    case "x-ratelimit-limit":
      held["x-ratelimit-limit"] = value
      break
    case "x-ratelimit-remaining":
      held["x-ratelimit-remaining"] = value
      break
    case "x-ratelimit-reset":
      held["x-ratelimit-reset"] = value
      break
    case "ratelimit-policy":
      held["ratelimit-policy"] = value
      break
    case "ratelimit":
      held.ratelimit = value
      break
    default:
      reply.header(name, value)
  }
}

/** Undefined if fastify keeps them in another way than an object of names and values. */
function placeOf(reply: FastifyReply, name: string, value: string): symbol | undefined {
  const places = Object.getOwnPropertySymbols(reply).filter((place) => heldAt(reply, place)?.[name] === value)
  return places.length === 1 ? places[0] : undefined
}

function heldAt(reply: FastifyReply, place: symbol): Held | undefined {
  const held = (reply as unknown as Record<symbol, unknown>)[place]
  return typeof held === "object" && held !== null ? (held as Held) : undefined
}
