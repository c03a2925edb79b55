// The few calls of the peers that the benchmark makes. Declared here so that types are checked without installing them.

interface ProxyServer {
  web(request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse): void
  on(event: "error", listener: (error: Error) => void): void
}

interface ProxyOptions {
  target: string
  agent: import("node:http").Agent
}

declare module "http-proxy-3" {
  export function createProxyServer(options: ProxyOptions): ProxyServer
}

declare module "http-proxy" {
  const httpProxy: { createProxyServer(options: ProxyOptions): ProxyServer }
  export = httpProxy
}

declare module "@fastify/http-proxy" {
  const plugin: import("fastify").FastifyPluginAsync<{ upstream: string }>
  export = plugin
}

declare module "fast-proxy" {
  function fastProxy(options: { base: string; undici: object }): {
    proxy(
      request: import("node:http").IncomingMessage,
      response: import("node:http").ServerResponse,
      source: string,
      options: object,
    ): void
  }
  export = fastProxy
}
