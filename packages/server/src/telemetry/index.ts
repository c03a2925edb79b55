export type { WatchEvent } from "./events.js"
export { createWatch, type WatchHub, type WatchOptions, type WatchReport } from "./hub.js"
export { createLog, type Log, type LogOptions } from "./log.js"
export type { TopKey } from "./top-keys.js"
