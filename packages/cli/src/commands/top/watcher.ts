// Follows a service: receives its live events, and polls what no event reports.

import { setTimeout as wait } from "node:timers/promises"
import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream"
import { SluiceError } from "sluice"
import type { ServiceClient } from "../../service-client.js"
import type { TopKey } from "../keys.js"
import type { TopModel } from "./model.js"

const MAX_RETRY_DELAY_MS = 5_000
const MAX_KEYS = 20

type EventStream = ReadableStream<EventSourceMessage>

/**
 * Opens the stream of live events, which begins after the event with the id `lastId`. Rejects if no service answers, or if
 * the token does not permit it.
 */
export async function openEvents(
  service: ServiceClient,
  signal: AbortSignal,
  lastId?: string,
): Promise<EventStream> {
  const headers = lastId === undefined ? {} : { "last-event-id": lastId }
  const { body } = await service.send("GET", "/events", { signal, headers, timeoutMs: 0 })
  if (body !== null)
    return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  throw new SluiceError("SERVICE_UNREACHABLE", { place: service.url, expected: "sends no live events" })
}

export interface FollowOptions {
  readonly service: ServiceClient
  /** An open stream: the caller opens it, so that it can report an error before it draws a screen. */
  readonly events: EventStream
  readonly signal: AbortSignal
  onEvent(data: string): void
  /** Called with the problem when the connection is lost, and with undefined when it is open again. */
  onConnection(problem: string | undefined): void
}

/**
 * Receives events until `signal` is aborted. Opens a lost connection again, and then receives the events that it missed
 * first.
 */
export async function follow(options: FollowOptions): Promise<void> {
  const { service, signal, onEvent, onConnection } = options
  let events: EventStream | undefined = options.events
  let lastId: string | undefined
  for (let failures = 0; !signal.aborted; ) {
    try {
      for await (const { id, data } of events ?? []) {
        failures = 0
        lastId = id ?? lastId
        onEvent(data)
      }
    } catch {
      // An error of the connection is handled like the end of the stream.
    }
    if (signal.aborted) return
    onConnection("connection lost, trying again")
    const delay = Math.random() * Math.min(MAX_RETRY_DELAY_MS, 250 * 2 ** failures++)
    await wait(delay, undefined, { signal }).catch(() => {})
    events = await openEvents(service, signal, lastId).catch(() => undefined)
    if (events !== undefined) onConnection(undefined)
  }
}

/** Polls what no event reports. It ignores errors: `follow` reports a lost connection. */
export async function refresh(service: ServiceClient, model: TopModel): Promise<void> {
  const [keys, ready, version] = await Promise.all([
    service.request<TopKey[]>("GET", `/top?by=${model.by}&limit=${MAX_KEYS}`).catch(() => undefined),
    service.request<{ status: string; revision: number }>("GET", "/readyz").catch(() => undefined),
    model.version === ""
      ? service.request<{ version: string }>("GET", "/version").catch(() => undefined)
      : undefined,
  ])
  model.keys = keys ?? model.keys
  model.status = ready?.status ?? model.status
  model.revision = ready?.revision ?? model.revision
  model.version = version?.version ?? model.version
}
