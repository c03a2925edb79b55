import type { ClusterNode } from "./cluster-view.js"

/** Functions that a test runs while a slot moves. `moveSlot` awaits each one before it continues. */
export interface MoveHooks {
  /** The slot is MIGRATING at its owner and IMPORTING at the target, no key has moved: absent keys get ASK. */
  onOpen?: () => Promise<void> | void
  /** Half of the keys are at the target: a command on keys of both halves gets TRYAGAIN. */
  onHalfMoved?: () => Promise<void> | void
  /** All keys are at the target, the slot still belongs to the source: every key gets ASK. */
  onKeysMoved?: () => Promise<void> | void
}

const KEYS_PER_CALL = 100
const MIGRATE_TIMEOUT_MS = 5_000

/** Moves a slot with its keys as a live reshard does. The other nodes learn the new owner by gossip. */
export async function moveSlot(
  slot: number,
  from: ClusterNode,
  to: ClusterNode,
  hooks: MoveHooks,
): Promise<void> {
  // latin1 preserves every byte of a key when the key is sent back in MIGRATE.
  const source = await from.connect({ encoding: "latin1" })
  try {
    await to.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", from.id)
    await source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
    await hooks.onOpen?.()

    const keysIn = async (count: number): Promise<string[]> => {
      const keys = await source.command("CLUSTER", "GETKEYSINSLOT", slot, count)
      return Array.isArray(keys) ? keys.map(String) : []
    }
    const migrate = (keys: readonly string[]): Promise<unknown> =>
      source.command("MIGRATE", to.host, to.port, "", 0, MIGRATE_TIMEOUT_MS, "KEYS", ...keys)

    const total = Number(await source.command("CLUSTER", "COUNTKEYSINSLOT", slot))
    for (let left = Math.floor(total / 2); left > 0; ) {
      const keys = await keysIn(Math.min(left, KEYS_PER_CALL))
      if (keys.length === 0) break
      await migrate(keys)
      left -= keys.length
    }
    await hooks.onHalfMoved?.()

    for (let keys = await keysIn(KEYS_PER_CALL); keys.length > 0; keys = await keysIn(KEYS_PER_CALL)) {
      await migrate(keys)
    }
    await hooks.onKeysMoved?.()

    // Tell the target first. If the source learned it first and the target then failed, no node would own the slot.
    await to.cli("CLUSTER", "SETSLOT", slot, "NODE", to.id)
    await source.command("CLUSTER", "SETSLOT", slot, "NODE", to.id)
  } finally {
    source.close()
  }
}
