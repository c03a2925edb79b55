import type { Charge, Usage } from "../store.js"

/** The numbers that the script replies about the key of a charge, and the time at which it read them. */
export interface ReadState {
  readonly state: Float64Array
  readonly now: number
}

/** Requests may charge a log between two readings of it. After this many readings the last one must do. */
const MAX_READINGS = 5

/** The usage of the key of a charge. `read` asks the script to decide the charge, which changes nothing. */
export async function usageInRedis(
  charge: Charge,
  read: (charge: Charge, at?: number) => Promise<ReadState>,
): Promise<Usage> {
  const { fullAt, usageOfLog, usageOfState } = await import("../memory/usage.js")
  const { policy } = charge
  const { state, now } = await read({ ...charge, cost: 0 })
  if (policy.algorithm.name === "concurrency") return { used: state[0] ?? 0 }
  if (policy.algorithm.name !== "sliding-window-log") return usageOfState(policy, state, now)
  let [used = 0, newest = 0] = state
  let oldest = newest
  for (let reading = 1; used > 0 && reading < MAX_READINGS; reading++) {
    const full = await read({ ...charge, policy: fullAt(policy, used), cost: 1 }, now)
    const [usedNow = 0, newestNow = 0, frees = 0] = full.state
    oldest = frees
    newest = newestNow
    if (usedNow === used) break
    used = usedNow
  }
  return usageOfLog(used, oldest, newest)
}
