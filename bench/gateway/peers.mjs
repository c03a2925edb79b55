// The proxies of npm, each in a process of its own, with the settings they are fastest with.

import { Agent, createServer } from "node:http"

const LOOPBACK = "127.0.0.1"

/** Each serves on a free port of loopback in front of `upstream`, and tells it. @type {Record<string, (upstream: string) => Promise<number>>} */
const peers = {
  async "http-proxy-3"(upstream) {
    const { createProxyServer } = await import("http-proxy-3")
    const proxy = createProxyServer({ target: upstream, agent: keepingAgent() })
    proxy.on("error", fail)
    return await listen((request, response) => proxy.web(request, response))
  },
  async "http-proxy"(upstream) {
    const { default: httpProxy } = await import("http-proxy")
    const proxy = httpProxy.createProxyServer({ target: upstream, agent: keepingAgent() })
    proxy.on("error", fail)
    return await listen((request, response) => proxy.web(request, response))
  },
  async "@fastify/http-proxy"(upstream) {
    const { default: fastify } = await import("fastify")
    const { default: httpProxy } = await import("@fastify/http-proxy")
    const app = fastify()
    await app.register(httpProxy, { upstream })
    const address = await app.listen({ host: LOOPBACK, port: 0 })
    return Number(new URL(address).port)
  },
  async "fast-proxy"(upstream) {
    const { default: fastProxy } = await import("fast-proxy")
    const { proxy } = fastProxy({ base: upstream, undici: { connections: 64, pipelining: 1 } })
    return await listen((request, response) => proxy(request, response, request.url ?? "/", {}))
  },
}

/**
 * @param {string} name
 * @param {string} upstream
 */
export function startPeer(name, upstream) {
  const start = peers[name]
  if (start === undefined) throw new Error(`no proxy is called ${name}`)
  return start(upstream)
}

function keepingAgent() {
  return new Agent({ keepAlive: true, maxSockets: 256 })
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

/** What goes wrong here is no figure. @param {unknown} error @returns {never} */
function fail(error) {
  throw error
}
