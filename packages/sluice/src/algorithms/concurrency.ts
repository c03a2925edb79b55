// Concurrency limits what is held at a time. Its functions are in hold-state.ts, which limiters load with their first acquire: most
// programs never acquire, and a page that only checks rates need not load them.

import type { Algorithm, Policy } from "./algorithm.js"

/** Has its functions once `installConcurrency` was called. */
export const concurrency = { name: "concurrency" } as Algorithm

/** Compares by name, because a policy may come from another copy of this library in the same process. */
export function isConcurrency(policy: Policy): boolean {
  return policy.algorithm.name === "concurrency"
}
