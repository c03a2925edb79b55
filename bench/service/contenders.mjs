// The servers, each in a process of its own: the built Sluice, and those it is compared with.

import { createServer } from "node:http"

const server = new URL("../../packages/server/dist/", import.meta.url)
const LOOPBACK = "127.0.0.1"
const listenOn = { host: LOOPBACK, port: 0 }

/** A limit that is never reached. */
const limits = [{ algorithm: "token-bucket", limit: 1_000_000_000, window: "1d" }]
const RULES = {
  version: 1,
  rules: [
    { id: "per-user", match: { path: "/v1/**" }, keyBy: "user", limits },
    { id: "edge", match: { domain: "edge", descriptor: [{ key: "user" }] }, keyBy: "descriptor", limits },
  ],
}

/** @typedef {{ headers: Record<string, string>, body: string }} Answer */

/** Each serves on a free port of loopback, and tells it. @type {Record<string, (answer: Answer) => Promise<number>>} */
export const servers = {
  async "http sluice"() {
    const { createCheckApi } = await load("check-api/check-api.js")
    const { listenForChecks } = await load("check-api/listen.js")
    const handler = createCheckApi(await core(), { onError: fail })
    return portOf(await listenForChecks({ ...listenOn, handler }))
  },
  "http bare": ({ headers, body }) =>
    listen((request, response) => {
      /** @type {Buffer[]} */
      const chunks = []
      request.on("data", (chunk) => chunks.push(chunk))
      request.on("end", () => {
        response.writeHead(200, headers)
        response.end(body)
      })
    }),
  async "grpc sluice"() {
    const { startEnvoy } = await load("envoy/start-envoy.js")
    return portOf(await startEnvoy(await core(), { ...listenOn, onError: fail }))
  },
  async "grpc bare"() {
    const grpc = await import("@grpc/grpc-js")
    const hello = new grpc.Server()
    /** @param {Buffer} bytes */
    const asItIs = (bytes) => bytes
    hello.addService(
      {
        SayHello: {
          path: "/hello.Greeter/SayHello",
          requestStream: false,
          responseStream: false,
          requestDeserialize: asItIs,
          requestSerialize: asItIs,
          responseDeserialize: asItIs,
          responseSerialize: asItIs,
        },
      },
      {
        /** @type {import("@grpc/grpc-js").handleUnaryCall<Buffer, Buffer>} */
        SayHello: (call, answer) => answer(null, call.request),
      },
    )
    return await new Promise((resolve, reject) => {
      hello.bindAsync(`${LOOPBACK}:0`, grpc.ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      )
    })
  },
  async "resp sluice"() {
    const { startResp } = await load("resp/resp-listener.js")
    return portOf(await startResp(await core(), { ...listenOn, onError: fail }))
  },
}

/** The engine on the embedded store, and everything that watches it, as the service has it. */
async function core() {
  const { memoryStore } = await import("sluice")
  const { createRuleEngine, objectRules } = await import("sluice/rules")
  const { createWatch } = await load("telemetry/hub.js")
  const rules = objectRules(RULES)
  const store = memoryStore()
  const watch = createWatch()
  watch.attach({ store, rules })
  return { engine: createRuleEngine({ rules, store }), rules, store, watch }
}

/** @param {string} file */
function load(file) {
  return import(new URL(file, server).href)
}

/**
 * @param {import("node:http").RequestListener} handler
 * @returns {Promise<number>}
 */
function listen(handler) {
  return new Promise((resolve) => {
    const http = createServer({ noDelay: true }, handler).listen(0, LOOPBACK, () =>
      resolve(/** @type {import("node:net").AddressInfo} */ (http.address()).port),
    )
  })
}

/** @param {{ address: string }} listener */
function portOf({ address }) {
  return Number(address.slice(address.lastIndexOf(":") + 1))
}

/** What goes wrong here is no figure. @param {unknown} error @returns {never} */
function fail(error) {
  throw error
}
