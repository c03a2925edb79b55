export { type CheckApiOptions, createCheckApi } from "./check-api.js"
export { type CheckApiListenerOptions, listenForChecks } from "./listen.js"
