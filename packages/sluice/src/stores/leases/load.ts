/** What a limiter loads with its first lease. The rule engine imports leases at once, so this module is the one to load late. */
export { LeasingStore } from "./leasing-store.js"
