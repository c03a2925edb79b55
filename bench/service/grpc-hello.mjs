// What gRPC costs in Node before anything is decided: a bare @grpc/grpc-js server with one unary method.
//   node bench/service/grpc-hello.mjs [port]
// prints its address. `helloCall` is a call to it, as h2load sends it.

import { fileURLToPath, pathToFileURL } from "node:url"
import { Server, ServerCredentials } from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"

export const helloCall = {
  path: "/hello.Greeter/Hello",
  /** A HelloRequest with the name "world", in its frame. */
  body: Buffer.from("00000000070a05776f726c64", "hex"),
}

/**
 * @param {number} [port] 0 takes any free one
 * @returns {Promise<{ port: number, close(): Promise<void> }>}
 */
export async function startHello(port = 0) {
  const definition = loadSync(fileURLToPath(new URL("./hello.proto", import.meta.url)))
  const server = new Server()
  server.addService(/** @type {import("@grpc/grpc-js").ServiceDefinition} */ (definition["hello.Greeter"]), {
    hello: (
      /** @type {{ request: { name: string } }} */ call,
      /** @type {(error: null, answer: { message: string }) => void} */ callback,
    ) => callback(null, { message: `Hello ${call.request.name}` }),
  })
  const bound = await new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, given) => {
      if (error) reject(error)
      else resolve(given)
    })
  })
  return {
    port: bound,
    close: () => new Promise((resolve) => server.tryShutdown(() => resolve())),
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { port } = await startHello(Number(process.argv[2] ?? 0))
  console.log(`127.0.0.1:${port}`)
}
