export { assertSafeToListen } from "./control/index.js"
export { runServe } from "./service/command.js"
export { isExplained } from "./service/user-error.js"
export { VERSION } from "./service/version.js"
