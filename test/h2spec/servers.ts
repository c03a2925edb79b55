// The servers that h2spec is pointed at.

import { ManualClock } from "sluice/testing"
import { startEnvoy } from "../../packages/server/src/envoy/start-envoy.js"
import { headerBlock } from "../../packages/server/src/http2/header-block.js"
import { startHttp2 } from "../../packages/server/src/http2/server.js"
import type { Listener } from "../../packages/server/src/listener.js"
import { openCore, portOf } from "../service/bed.js"

export interface Target {
  readonly port: number
  readonly errors: readonly unknown[]
  close(): Promise<void>
}

/** Everything that h2spec tries needs a server that waits for the end of a request and answers with DATA. */
export async function startPlain(): Promise<Target> {
  const headers = headerBlock({ ":status": "200", "content-type": "text/plain" })
  const trailers = headerBlock({ "x-end": "yes" })
  const errors: unknown[] = []
  const listener = await startHttp2({
    host: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    onRequest: (stream) => ({
      data() {},
      ended: () => stream.answer(headers, Buffer.from("so many bytes that windows matter"), trailers),
      closed() {},
      look() {},
    }),
  })
  return target(listener, errors)
}

/** The listener for Envoy. h2spec does not speak gRPC and is refused early, so some cases do not test what they should. */
export async function startGrpcListener(): Promise<Target> {
  const { core, close } = openCore("version: 1\nrules: []\n", new ManualClock())
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  return target(await startEnvoy(core, { host: "127.0.0.1", port: 0, onError }), errors, close)
}

export const SERVERS: Readonly<Record<string, () => Promise<Target>>> = {
  http2: startPlain,
  grpc: startGrpcListener,
}

function target(listener: Listener, errors: readonly unknown[], close = async () => {}): Target {
  return {
    port: portOf(listener.address),
    errors,
    async close() {
      await listener.close(0)
      await close()
    },
  }
}
