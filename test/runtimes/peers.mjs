// The frameworks and Redis clients that package.json names as peers, each at the oldest and the newest version of every major
// version that it allows. The peer ranges of the package are checked by the way: npm refuses to install what they exclude.

import { join } from "node:path"
import { copyFromRepository, installPackages, runProgram } from "../support/installed-project.mjs"

/** Installed with each version of Nest. @param {string} version */
const nest = (version) => [
  ...["common", "core", "platform-express"].map((name) => `@nestjs/${name}@${version}`),
  // The first release of Nest 10 asks for the older line.
  version === "10.0.0" ? "reflect-metadata@0.1" : "reflect-metadata@0.2",
  "rxjs@7",
]

/** @typedef {{ name: string, isQuick?: boolean, program: string, packages: readonly string[] }} Peer */

/** @param {string} name @param {string} program @param {readonly string[]} versions the newest last @returns {Peer[]} */
function versionsOf(name, program, versions) {
  return versions.map((version, i) => ({
    name: `${name} ${version}`,
    isQuick: i === versions.length - 1,
    program,
    packages: name === "@nestjs/core" ? nest(version) : [`${name}@${version}`],
  }))
}

/** @type {readonly Peer[]} */
export const peers = [
  ...versionsOf("ioredis", "ioredis", ["5.0.0", "5", "6"]),
  ...versionsOf("iovalkey", "iovalkey", ["0.2.1", "0.4"]),
  ...versionsOf("redis", "node-redis", ["4.5.0", "4", "5.0.0", "5", "6"]),
  ...versionsOf("express", "express", ["4.17.0", "4", "5.0.0", "5"]),
  ...versionsOf("fastify", "fastify", ["4.23.0", "4", "5.0.0", "5"]),
  ...versionsOf("hono", "hono", ["4.0.0", "4"]),
  ...versionsOf("koa", "koa", ["2.0.0", "2", "3"]),
  ...versionsOf("@nestjs/core", "nest", ["10.0.0", "10", "11", "12"]),
]

/** @param {import("./runtime-checks.mjs").Suite} suite */
export async function checkPeers({ folder, tarball, redisUrl, list, isSelected }) {
  for (const [i, { name, program, packages }] of peers.filter(isSelected).entries()) {
    await list.run(name, program, async () => {
      const project = join(folder, `peer-${i}`)
      installPackages(project, [tarball, ...packages])
      copyFromRepository("test/runtimes", project)
      const env = { SLUICE_REDIS_URL: redisUrl }
      await runProgram(process.execPath, ["peer-checks.mjs", program], { cwd: project, env })
    })
  }
}
