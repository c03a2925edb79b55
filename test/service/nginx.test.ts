import { expect, it } from "vitest"
import { toolPath } from "../support/tool.js"
import { startBed } from "./bed.js"
import { describeProxied } from "./proxied-suite.js"
import { ask, blocksOf, type ProxyProcess, startApplication, startProxy } from "./proxy.js"

interface Ports {
  readonly sluice: number
  readonly application: number
}

/** nginx with what docs/service.md shows, on other ports, and everything it writes in a folder of its own. */
function startNginx(ports: Ports): Promise<ProxyProcess> {
  const [shown] = blocksOf("nginx")
  if (shown === undefined) throw new Error("docs/service.md shows no nginx configuration")
  return startProxy(
    toolPath("nginx"),
    (room, port) => ({
      "nginx.conf": `
daemon off;
master_process off;
pid ${room}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${room}/${name};`).join("\n  ")}
  ${shown
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replace("127.0.0.1:8080", `127.0.0.1:${ports.sluice}`)
    .replace("127.0.0.1:3000", `127.0.0.1:${ports.application}`)}
}
`,
    }),
    (room) => ["-p", room, "-c", `${room}/nginx.conf`, "-e", "stderr"],
  )
}

describeProxied({ name: "nginx, as docs/service.md configures it", copiesHeaders: true, start: startNginx })

it("nginx lets requests pass while the service is away", async () => {
  const bed = await startBed("version: 1\nrules: []\n")
  const application = await startApplication()
  const proxy = await startNginx({ sluice: bed.port, application: application.port })
  try {
    await bed.close()
    const { status, body } = await ask(proxy.port, { path: "/items" })
    expect([status, body]).toEqual([200, "from the application"])
  } finally {
    await proxy.stop()
    await application.close()
  }
}, 60_000)
