// nginx as the backend, and as the proxy that others are held against: one process, on one core.

import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onCore } from "../harness/cores.mjs"
import { ensureTool } from "../harness/set-up.mjs"
import { BODY, CONNECTIONS } from "./cases.mjs"

/** @typedef {{ port: number, pid: number | undefined, stop: () => void }} Server */

/** Answers everything with the same small body. @param {number | undefined} core */
export function startBackend(core) {
  return startNginx(
    core,
    (port) => `
    access_log off;
    server {
      listen 127.0.0.1:${port};
      default_type application/json;
      location / { return 200 '${BODY.replaceAll("'", "\\'")}'; }
    }`,
  )
}

/**
 * @param {number | undefined} core
 * @param {number} upstream
 */
export function startNginxProxy(core, upstream) {
  return startNginx(
    core,
    (port) => `
    access_log access.log combined;
    limit_req_zone $binary_remote_addr zone=by_address:10m rate=1000000r/s;
    upstream backend {
      server 127.0.0.1:${upstream};
      keepalive ${CONNECTIONS * 2};
      keepalive_requests 1000000000;
    }
    server {
      listen 127.0.0.1:${port};
      location / {
        limit_req zone=by_address burst=1000000 nodelay;
        proxy_pass http://backend;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-For $remote_addr;
      }
    }`,
  )
}

/**
 * @param {number | undefined} core
 * @param {(port: number) => string} http
 * @returns {Promise<Server>}
 */
async function startNginx(core, http) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-nginx-"))
  const port = await freePort()
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log warn;
events { worker_connections 4096; }
http {
  keepalive_requests 1000000000;
  ${temporary.join(" ")}
  ${http(port)}
}`,
  )
  const [program, args] = onCore(core, ensureTool("nginx"), ["-p", folder, "-c", join(folder, "nginx.conf")])
  const child = spawn(program, args, { stdio: ["ignore", "ignore", 2] })
  const stop = () => {
    child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await answers(port, child)
  } catch (error) {
    stop()
    throw error
  }
  return { port, pid: child.pid, stop }
}

/**
 * @param {number} port
 * @param {import("node:child_process").ChildProcess} child
 */
async function answers(port, child) {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`)
    const socket = connect(port, "127.0.0.1")
    const isUp = await new Promise((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    })
    socket.destroy()
    if (isUp) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error("nginx does not answer")
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (server.address())
      server.close(() => resolve(port))
    })
  })
}
