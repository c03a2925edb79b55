export { describeStoreContract, type StoreContractOptions } from "./contract/store-contract.js"
export { ManualClock } from "./manual-clock.js"
