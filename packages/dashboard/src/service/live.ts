// Live events of the service, read with fetch because an EventSource cannot send a token.

import { effect, signal } from "@preact/signals"
import { createParser } from "eventsource-parser"
import { request } from "./api.js"
import { session } from "./session.js"

export interface LiveEvent {
  readonly type: string
  readonly at: number
}

export type Connection = "connecting" | "live" | "lost"

export const connection = signal<Connection>("connecting")
/** When the service last sent anything, in milliseconds since 1970. */
export const lastHeard = signal(0)

/** The service sends a comment every 15 s. If two are missing, the connection is lost. */
const SILENCE_MS = 35_000
const RETRY_MS = { first: 500, max: 10_000 }

type Listener = (event: LiveEvent) => void
const listeners = new Map<string, Set<Listener>>()

/** Calls `listener` for every later event of a type. Returns a function that stops it, as effects expect. */
export function onEvent<Event extends LiveEvent>(type: string, listener: (event: Event) => void): () => void {
  const known = listeners.get(type) ?? new Set()
  listeners.set(type, known)
  known.add(listener as Listener)
  return () => void known.delete(listener as Listener)
}

/** Receives events while somebody is signed in. Returns a function that stops it. */
export function followEvents(): () => void {
  return effect(() => {
    if (session.value === undefined) return
    const ending = new AbortController()
    void listen(ending.signal)
    return () => ending.abort()
  })
}

async function listen(ended: AbortSignal): Promise<void> {
  const seen: { id?: string } = {}
  for (let failures = 0; !ended.aborted; failures++) {
    try {
      await listenOnce(ended, seen, () => {
        failures = 0
      })
    } catch {
      // The reason does not matter: the loop connects again.
    }
    if (ended.aborted) return
    connection.value = "lost"
    await wait(retryAfter(failures), ended)
  }
}

async function listenOnce(ended: AbortSignal, seen: { id?: string }, onOpen: () => void): Promise<void> {
  const silent = new AbortController()
  let alarm = setTimeout(() => silent.abort(), SILENCE_MS)
  try {
    const response = await request("GET", "events", {
      accept: "text/event-stream",
      signal: AbortSignal.any([ended, silent.signal]),
      ...(seen.id === undefined ? {} : { lastEventId: seen.id }),
    })
    onOpen()
    connection.value = "live"
    const parser = createParser({
      onEvent: ({ id, event = "message", data }) => {
        if (id !== undefined) seen.id = id
        notify(event, data)
      },
    })
    const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (let chunk = await chunks?.read(); chunk?.done === false; chunk = await chunks?.read()) {
      clearTimeout(alarm)
      alarm = setTimeout(() => silent.abort(), SILENCE_MS)
      lastHeard.value = Date.now()
      parser.feed(chunk.value)
    }
  } finally {
    clearTimeout(alarm)
  }
}

function notify(type: string, data: string): void {
  const event = { type, ...JSON.parse(data) } as LiveEvent
  for (const listener of listeners.get(type) ?? []) listener(event)
}

/** Half of the wait is random, so that not all open pages reconnect at the same moment. */
function retryAfter(failures: number): number {
  const max = Math.min(RETRY_MS.max, RETRY_MS.first * 2 ** failures)
  return max / 2 + (Math.random() * max) / 2
}

function wait(ms: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    ended.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
