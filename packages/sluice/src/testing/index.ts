export { ManualClock } from "./manual-clock.js"
export { describeStoreContract, type StoreContractOptions } from "./store-contract.js"
