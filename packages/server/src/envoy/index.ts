export { createJsonHandler, type JsonHandlerOptions } from "./json-handler.js"
export { type EnvoyListener, type EnvoyOptions, startEnvoy } from "./start-envoy.js"
