// Keys: reading their usage, resetting and blocking them, and who is blocked.

import { SluiceError } from "sluice"
import type { LimitUsage, Mode, RuleDecision } from "sluice/rules"
import type { z } from "zod"
import type { Core } from "../../core.js"
import { jsonBody } from "../api/body.js"
import type { Editor } from "../api/editor.js"
import { type Asked, type Route, route } from "../api/route.js"
import {
  type BlockedList,
  blockBody,
  blockedList,
  blocksQuery,
  type KeyState,
  keyState,
  tierQuery,
} from "../api/schemas.js"

const tag = "Keys"
const path = "/keys/:rule/:key"
const description =
  "The key as decisions show it, such as `user:42`, percent-encoded: `user%3A42`. Of API keys that is the keyed hash."

type TierQuery = z.output<typeof tierQuery>

export function keyRoutes({ engine }: Core, editor: Editor): Route[] {
  /** Reads the state of a key's limits by peeking, which charges nothing. */
  const stateOf = async ({ params, query }: Asked<TierQuery>) => {
    const { rule, key } = named(params)
    const tier = query.tier === undefined ? {} : { tier: query.tier }
    const decision = await engine.checkKey(rule, key, { cost: 0, ...tier })
    // The counters of this instance alone would be misread as those of the fleet.
    const usage = decision.degraded === undefined ? await engine.keyUsage(rule, key, tier) : undefined
    const block = decision.reason === "block" ? await engine.keyBlock(rule, key) : undefined
    const mode = engine.rules.rules.find(({ id }) => id === rule)?.mode ?? "enforce"
    return { json: shown({ rule, key, mode }, decision, usage, block) }
  }
  const target = ({ params }: Pick<Asked, "params">) => `${params.rule}/${params.key}`
  const answer = { description: "The usage of the key.", schema: keyState }
  return [
    route({
      method: "GET",
      path,
      role: "reader",
      tag,
      summary: "Read the usage of a key",
      description,
      query: tierQuery,
      answer,
      run: stateOf,
    }),
    route({
      method: "GET",
      path: "/blocks",
      role: "reader",
      tag,
      summary: "The blocked keys",
      description:
        "The keys that are blocked now, by hand or by a penalty, those that last longest first. A key that is blocked may be missing: the list is kept beside the blocks.",
      query: blocksQuery,
      answer: { description: "The keys, and whether these are all.", schema: blockedList },
      run: async ({ query }) => ({ json: await blocks(engine, query.limit) }),
    }),
    route({
      method: "POST",
      path: `${path}/reset`,
      role: "editor",
      tag,
      summary: "Reset a key",
      description: "A block stays. A tier with limits of its own has counters of its own.",
      query: tierQuery,
      answer,
      async run(asked) {
        const { rule, key } = named(asked.params)
        const { tier } = asked.query
        await engine.resetKey(rule, key, tier === undefined ? {} : { tier })
        await editor.record(asked, { action: `POST ${path}/reset`, target: target(asked) })
        return await stateOf(asked)
      },
    }),
    route({
      method: "POST",
      path: `${path}/block`,
      role: "editor",
      tag,
      summary: "Block a key for some time",
      description: "A second block replaces the first.",
      query: tierQuery,
      body: jsonBody(blockBody),
      answer,
      async run(asked) {
        const { rule, key } = named(asked.params)
        await engine.blockKey(rule, key, asked.body.duration)
        await editor.record(asked, { action: `POST ${path}/block`, target: target(asked) })
        return await stateOf(asked)
      },
    }),
    route({
      method: "DELETE",
      path: `${path}/block`,
      role: "editor",
      tag,
      summary: "End a block",
      query: tierQuery,
      answer,
      async run(asked) {
        const { rule, key } = named(asked.params)
        await engine.unblockKey(rule, key)
        await editor.record(asked, { action: `DELETE ${path}/block`, target: target(asked) })
        return await stateOf(asked)
      },
    }),
  ]
}

async function blocks(engine: Core["engine"], limit: number): Promise<BlockedList> {
  const list = await engine.blockedKeys(limit)
  if (list === undefined)
    throw new SluiceError("BLOCKS_UNKNOWN", {
      place: "blocks",
      expected: "cannot be listed: the store does not answer",
    })
  return {
    blocks: list.keys.map(({ blockedSince, blockedUntil, blockedForMs, ...block }) => ({
      ...block,
      blockedSince: Math.ceil(blockedSince),
      blockedUntil: Math.ceil(blockedUntil),
      blockedForMs: Math.ceil(blockedForMs),
    })),
    complete: list.isComplete,
  }
}

function inWholeMs(usage: LimitUsage | undefined): Partial<KeyState["limits"][number]> {
  if (usage === undefined) return {}
  const { used, oldestAt, newestAt, buckets, penalty } = usage
  return {
    used,
    ...(penalty === undefined ? {} : { penalty: { ...penalty, ...inWholeTimes(penalty) } }),
    ...(oldestAt === undefined ? {} : { oldestAt: Math.ceil(oldestAt) }),
    ...(newestAt === undefined ? {} : { newestAt: Math.ceil(newestAt) }),
    ...(buckets === undefined
      ? {}
      : { buckets: buckets.map((bucket) => ({ ...bucket, startsAt: Math.ceil(bucket.startsAt) })) }),
  }
}

type Times = NonNullable<KeyState["block"]>

function inWholeTimes({ blockedSince, blockedUntil }: Partial<Times>): Partial<Times> {
  if (blockedSince === undefined || blockedUntil === undefined) return {}
  return { blockedSince: Math.ceil(blockedSince), blockedUntil: Math.ceil(blockedUntil) }
}

/** How long a blocked key stays so. A limit that is used up for longer than the block does not count, unless no block is known. */
function blockedForMs(
  decision: RuleDecision,
  usage: readonly LimitUsage[],
  block: Times | undefined,
): number {
  const until = [block, ...usage.map(({ penalty }) => penalty)].flatMap((one) => one?.blockedUntil ?? [])
  if (until.length === 0) return decision.retryAfterMs
  return Math.max(0, Math.max(...until) - (decision.resetAt - decision.resetAfterMs))
}

interface Shown {
  readonly rule: string
  readonly key: string
  readonly mode: Mode
}

function named(params: Asked["params"]): { readonly rule: string; readonly key: string } {
  return { rule: String(params.rule), key: String(params.key) }
}

function shown(
  { rule, key, mode }: Shown,
  decision: RuleDecision,
  usage: readonly LimitUsage[] = [],
  block?: Times,
): KeyState {
  const { reason, allowed, degraded, revision } = decision
  const outcome = decision.rules.find((found) => found.rule === rule && found.candidate !== true)
  const limits = (outcome?.limits ?? []).map(
    ({ name, limit, remaining, retryAfterMs, resetAfterMs, resetAt, windowMs, used }) => {
      const counted = { name, limit, remaining, retryAfterMs, resetAfterMs, resetAt, windowMs, used }
      return { ...counted, ...inWholeMs(usage.find((found) => found.name === name)) }
    },
  )
  // A peek is allowed even if the limit is used up.
  const hasRoom = mode !== "enforce" || (outcome?.limits ?? []).every(({ remaining }) => remaining > 0)
  return {
    rule,
    key,
    mode,
    allowed: allowed && hasRoom,
    ...(reason === "block" ? { blockedForMs: Math.ceil(blockedForMs(decision, usage, block)) } : {}),
    ...(block === undefined ? {} : { block: inWholeTimes(block) as Times }),
    ...(outcome?.tier === undefined ? {} : { tier: outcome.tier }),
    ...(degraded === undefined ? {} : { degraded }),
    limits,
    revision,
  }
}
