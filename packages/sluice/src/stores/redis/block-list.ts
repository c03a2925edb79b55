// The blocked keys of a fleet, for people to read. The list is a sorted set of its own, because the states of blocks have no
// order and nobody may scan all keys of a server. The instance that began a block adds it with a second call: if that is lost, the
// key is blocked and not listed.

import { blockPolicy } from "../../algorithms/block.js"
import {
  type BlockedKeys,
  type Charge,
  MAX_LISTED,
  MAX_LISTED_KEY,
  Namespace,
  type Outcome,
  penaltyNamespace,
  type Usage,
} from "../store.js"
import { type CommandRunner, tagOf } from "./fleet.js"
import { BLOCK_LIST } from "./scripts.js"

/** What a block is listed as. */
type BlockName = Pick<Charge, "namespace" | "key">

/** Adds a block that lasts this long, in ms. Does nothing if Redis does not answer. */
export async function listBlock(redis: CommandRunner, block: BlockName, lengthMs: number): Promise<void> {
  const { namespace, key } = block
  if (key.length > MAX_LISTED_KEY) return
  await run(redis, namespace.prefix, String(Math.ceil(lengthMs)), nameOf(block), MAX_LISTED).catch(() => {})
}

/** Adds the blocks that penalties began with a check. */
export function listBegun(redis: CommandRunner, charges: readonly Charge[], { begun = [] }: Outcome): void {
  for (const { limit, length } of begun) {
    const { namespace, key } = charges[limit] as Charge
    void listBlock(redis, { namespace: penaltyNamespace(namespace), key }, length / 1000)
  }
}

/** Removes a block that was ended early. */
export async function unlistBlock(redis: CommandRunner, block: BlockName): Promise<void> {
  const key = keyOf(block.namespace.prefix)
  await redis.command(key, ["ZREM", key, nameOf(block)]).catch(() => {})
}

/** `usage` reads the states of blocks, which know the truth about each of them. */
export async function blockedInRedis(
  redis: CommandRunner,
  prefix: string,
  max: number,
  usage: (charges: readonly Charge[]) => Promise<readonly Usage[]>,
): Promise<BlockedKeys> {
  const names = ((await run(redis, prefix, "0", "", max + 1)) as (string | Buffer)[]).reverse()
  const charges = names.slice(0, max).map((name): Charge => {
    const [namespace, key] = JSON.parse(String(name)) as [string, string]
    return { namespace: new Namespace(namespace, prefix), key, policy: blockPolicy, cost: 0 }
  })
  const usages = await usage(charges)
  const keys = charges.flatMap(({ namespace: { name }, key }, i) => {
    const { since, until, blocks = 0 } = usages[i]?.block ?? {}
    return since === undefined || until === undefined ? [] : [{ namespace: name, key, since, until, blocks }]
  })
  return { keys: keys.sort((a, b) => b.until - a.until), isComplete: names.length <= max }
}

function run(
  redis: CommandRunner,
  prefix: string,
  length: string,
  name: string,
  max: number,
): Promise<unknown> {
  const key = keyOf(prefix)
  return redis.command(key, ["EVAL", BLOCK_LIST, "1", key, length, name, String(max)])
}

function keyOf(prefix: string): string {
  return `s1:{${tagOf(prefix)}}:blocked`
}

function nameOf({ namespace, key }: BlockName): string {
  return JSON.stringify([namespace.name, key])
}
