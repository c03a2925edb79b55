// Follows a service: its live events as they come, and what has to be asked for again and again.

import { setTimeout as wait } from "node:timers/promises"
import { SluiceError } from "sluice"
import { eventsIn } from "../../event-stream.js"
import type { Service } from "../../service.js"
import type { TopKey } from "../keys/top.js"
import type { TopModel } from "./model.js"

const LONGEST_RETRY_MS = 5_000
const MOST_KEYS = 20

type EventBody = NonNullable<Response["body"]>

/** Rejects when there is no service, or none that this token may listen to. */
export async function openEvents(service: Service, signal: AbortSignal, last?: string): Promise<EventBody> {
  const headers = last === undefined ? {} : { "last-event-id": last }
  const { body } = await service.open("GET", "/events", { signal, headers, withinMs: 0 })
  if (body !== null) return body
  throw new SluiceError("SERVICE_UNREACHABLE", { place: service.url, expected: "has no live events" })
}

export interface Following {
  readonly service: Service
  /** Already open, so that whoever may not listen is told so before anything is shown. */
  readonly events: EventBody
  readonly signal: AbortSignal
  onEvent(data: string): void
  /** Undefined when the connection is there again. */
  onTrouble(trouble: string | undefined): void
}

/** Until the signal ends it. A connection that is lost is opened again, and what was missed comes first. */
export async function follow({ service, events, signal, onEvent, onTrouble }: Following): Promise<void> {
  let body: EventBody | undefined = events
  let last: string | undefined
  for (let failures = 0; !signal.aborted; ) {
    try {
      for await (const { id, data } of eventsIn(body ?? [])) {
        failures = 0
        last = id ?? last
        onEvent(data)
      }
    } catch {
      // The end of the stream and its failure are the same to who watches.
    }
    if (signal.aborted) return
    onTrouble("connection lost, trying again")
    const delay = Math.random() * Math.min(LONGEST_RETRY_MS, 250 * 2 ** failures++)
    await wait(delay, undefined, { signal }).catch(() => {})
    body = await openEvents(service, signal, last).catch(() => undefined)
    if (body !== undefined) onTrouble(undefined)
  }
}

/** Asks for what comes with no event. A service that is away is told of by the events. */
export async function refresh(service: Service, model: TopModel): Promise<void> {
  const [keys, ready, version] = await Promise.all([
    service.ask<TopKey[]>("GET", `/top?by=${model.by}&limit=${MOST_KEYS}`).catch(() => undefined),
    service.ask<{ status: string; revision: number }>("GET", "/readyz").catch(() => undefined),
    model.version === ""
      ? service.ask<{ version: string }>("GET", "/version").catch(() => undefined)
      : undefined,
  ])
  model.keys = keys ?? model.keys
  model.status = ready?.status ?? model.status
  model.revision = ready?.revision ?? model.revision
  model.version = version?.version ?? model.version
}
