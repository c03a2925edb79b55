// `npm run test:protocols`: every suite against programs of others that `npm test` cannot ask for, because npm and Debian's
// packages do not carry them or they are too large. A suite whose program cannot be had fails, with the command that gets it.

import { spawnSync } from "node:child_process"
import { root } from "../../scripts/root.mjs"

const suites = {
  h2spec: "test/h2spec/run.mjs",
  envoy: "test/envoy/run.mjs",
  valkey: "test/protocols/valkey.mjs",
  peers: "test/peers/run.mjs",
  clients: "test/clients/run.mjs",
}

const results = Object.entries(suites).map(([name, script]) => {
  console.log(`\n── ${name} ${"─".repeat(60 - name.length)}`)
  return { name, ok: spawnSync(process.execPath, [script], { cwd: root, stdio: "inherit" }).status === 0 }
})
console.log("")
for (const { name, ok } of results) console.log(`${ok ? "ok  " : "FAIL"}  ${name}`)
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1
