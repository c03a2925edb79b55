import { toolPath } from "../support/tool.js"
import { describeProxied } from "./proxied-suite.js"
import { blocksOf, type ProxyProcess, startProxy } from "./proxy.js"

interface Ports {
  readonly sluice: number
  readonly application: number
}

/** Caddy with one of the configurations that docs/service.md shows, on other ports. */
function startCaddy(shown: string, ports: Ports): Promise<ProxyProcess> {
  return startProxy(
    toolPath("caddy"),
    (_room, port) => ({
      Caddyfile: `
{
  admin off
  auto_https off
}
${shown
  .replace(":80 {", `http://:${port} {\n  bind 127.0.0.1`)
  .replace("127.0.0.1:8080", `127.0.0.1:${ports.sluice}`)
  .replace("127.0.0.1:3000", `127.0.0.1:${ports.application}`)}
`,
    }),
    (room) => ["run", "--config", `${room}/Caddyfile`, "--adapter", "caddyfile"],
  )
}

const [long, short] = blocksOf("caddyfile")
if (long === undefined || short === undefined)
  throw new Error("docs/service.md shows two configurations of Caddy no more")

describeProxied({
  name: "Caddy, as docs/service.md configures it",
  copiesHeaders: true,
  start: (ports) => startCaddy(long, ports),
})

describeProxied({
  name: "Caddy with forward_auth alone",
  copiesHeaders: false,
  start: (ports) => startCaddy(short, ports),
})
