export { assertSafeToListen } from "./control/api/access.js"
export { runServe } from "./service/command.js"
export { isUserError } from "./service/serving/start-errors.js"
export { VERSION } from "./version.js"
