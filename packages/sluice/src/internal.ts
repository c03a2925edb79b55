/**
 * What the sibling packages (server, cli) need from the library and its users do not. It is not documented, and it may change
 * in any release. What sibling packages need from the rules is in `sluice/internal/rules`, so that importing this module
 * loads neither zod nor yaml.
 */

export type { Calendar } from "./algorithms/calendar.js"
export { isCalendarUnit, openCalendar } from "./calendar-options.js"
export { MAX_TIMEOUT_MS } from "./clock.js"
export { decisionReplacer } from "./decision.js"
export { Admission, type AdmissionContext, reserveDelay } from "./middleware/core/admission.js"
export { DelayQueue } from "./middleware/core/delay-queue.js"
export { deniedAnswer } from "./middleware/core/denied-answer.js"
export { headerList } from "./middleware/headers/headers.js"
export { nearest } from "./options.js"
export { restorePolicy, type SavedPolicy, savePolicy, windowMsOf } from "./policy.js"
export { noProxies } from "./request/address/trust-proxy.js"
export { FIRST_LINE_ONLY } from "./request/header-source.js"
export { MemoryStore } from "./stores/memory/memory-store.js"
export { Namespace } from "./stores/store.js"
export { type TimeoutEntry, Timeouts } from "./timeouts.js"
