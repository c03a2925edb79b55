import type { Request } from "express"
import { SluiceError } from "../../errors.js"
import type { RequestReader } from "../core/request-reader.js"
import { nodeRequestReader } from "../node/node-request.js"

export const expressRequestReader: RequestReader<Request> = {
  ...nodeRequestReader,
  // The whole path: `url` has lost what a router is mounted at.
  target: (request) => request.originalUrl,
  peer: peerOf,
  ip(request) {
    // On the prototype, where express puts it, because no request of express is like another to the engine's caches.
    const app = (Object.getPrototypeOf(request) as Partial<Request>).app ?? request.app
    const trusted: unknown = app.get("trust proxy")
    if (!trusted) return peerOf(request)
    if (trusted === true) warnOfTrust(app)
    return request.ip
  },
  route(request) {
    const path: unknown = request.route?.path
    return typeof path === "string" ? request.baseUrl + path : undefined
  },
}

/** With `Reflect.get` for the same reason; see node-request.ts. */
function peerOf(request: Request): string | undefined {
  return (Reflect.get(request, "socket") as Request["socket"]).remoteAddress
}

const warned = new WeakSet<object>()

/** The application's setting is its own, and counts; but with this one the limit can be walked around. */
function warnOfTrust(app: object): void {
  if (warned.has(app)) return
  warned.add(app)
  process.emitWarning(
    new SluiceError("TRUST_PROXY_INVALID", {
      place: 'app.set("trust proxy")',
      expected:
        "lets any client choose its address and with it whom it is counted as; set the number of proxies or their addresses",
      found: true,
    }),
  )
}
