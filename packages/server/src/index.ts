export { assertSafeToListen } from "./control/index.js"
export { runServe } from "./service/command.js"
export { isUserError } from "./service/serving/start-errors.js"
export { VERSION } from "./version.js"
