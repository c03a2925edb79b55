export { assertSafeToListen } from "./control/index.js"
export { runServe } from "./run/command.js"
export { isExplained } from "./run/explained.js"
export { VERSION } from "./run/version.js"
