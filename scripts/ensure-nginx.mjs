// A real nginx for the tests. `node scripts/ensure-nginx.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const nginx = {
  command: "nginx",
  variable: "SLUICE_NGINX",
  oldest: "1.18",
  version: /nginx\/(\d+(?:\.\d+)+)/,
  versionArguments: ["-v"],
  debianPackage: "nginx",
  folder: "usr/sbin",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install nginx",
    darwin: "brew install nginx",
    other: "your system's package manager: install nginx 1.18 or newer, with auth_request",
  },
}

export function ensureNginx() {
  return ensureTool(nginx)
}

printTool(import.meta.url, ensureNginx)
