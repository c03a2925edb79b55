// Runs the checks in each runtime, and one example application.

import { join } from "node:path"
import { freePort } from "../support/free-port.mjs"
import { copyFromRepository, installPackages, runProgram, withServer } from "../support/installed-project.mjs"
import { aliasOf, programIn, runtimes } from "./runtimes.mjs"
import { serveWorker } from "./workerd.mjs"

const EXAMPLE = "example application"
const LOADS = "starts"

/** @typedef {{ folder: string, tarball: string, redisUrl: string, list: import("../support/check-list.mjs").CheckList, isSelected: (candidate: { name: string, isQuick?: boolean }) => boolean }} Suite */

/**
 * Returns the versions of the runtimes, by name.
 * @param {Suite} suite
 * @returns {Promise<Record<string, string>>}
 */
export async function checkRuntimes({ folder, tarball, redisUrl, list, isSelected }) {
  const selected = runtimes.filter(isSelected)
  const programs = join(folder, "programs")
  const project = join(folder, "project")
  installPackages(
    programs,
    selected.map((runtime) => `${aliasOf(runtime)}@npm:${runtime.package}`),
  )
  installPackages(project, [tarball, "express@5", "ioredis@6", "redis@6", "@hono/node-server@2", "hono@4"])
  copyFromRepository("test/runtimes", project)
  copyFromRepository("examples/fetch", join(project, "example"))

  /** @type {Record<string, string>} */
  const versions = {}
  for (const runtime of selected) {
    const program = programIn(programs, runtime)
    await list.run(runtime.name, LOADS, async () => {
      const printed = await runProgram(program, ["--version"], { cwd: project })
      versions[runtime.name] = /\d+(?:\.\d+)+|\d{4}-\d\d-\d\d/.exec(printed)?.[0] ?? "unknown"
    })
    const context = { name: runtime.name, program, project, redisUrl, list, run: runtime.run }
    await (runtime.kind === "worker" ? checkWorker(context) : checkProcess(context))
  }
  return versions
}

/** Adds the results that a runtime has reported; a runtime that reports none has failed. */
async function addResults(name, list, results) {
  try {
    for (const result of await results()) list.add({ group: name, ...result })
  } catch (error) {
    list.add({ group: name, name: "runs the checks", ok: false, ms: 0, error: error.message })
  }
}

async function checkProcess({ name, program, project, redisUrl, list, run }) {
  await addResults(name, list, async () => {
    const env = { SLUICE_REDIS_URL: redisUrl }
    const printed = await runProgram(program, [...run, "process-checks.mjs"], { cwd: project, env })
    return JSON.parse(printed.trim().split("\n").at(-1))
  })
  await list.run(name, EXAMPLE, async () => {
    const port = await freePort()
    const options = { cwd: project, env: { PORT: String(port) }, ready: /listening on/ }
    await withServer(program, [...run, "example/server.mjs"], options, () =>
      expectExample(`http://127.0.0.1:${port}`),
    )
  })
}

/** Since this date, the flag nodejs_compat includes node:fs, which `sluice/rules` imports. */
const WORKER = { source: "worker.mjs", date: "2025-09-15", flags: ["nodejs_compat"] }
/** Redis clients need more of Node than workerd had then. Since August 2026 it has it without a flag. */
const REDIS_WORKER = { source: "worker-redis.mjs", date: "2026-11-01", flags: [] }

async function checkWorker({ name, program, project, redisUrl, list }) {
  await addResults(name, list, () =>
    serveWorker(program, project, WORKER, async (url) => {
      const results = await resultsAt(`${url}/checks`)
      await expectExample(url)
      await expectExample(`${url}/rules`)
      return [...results, { name: EXAMPLE, ok: true, ms: 0 }]
    }),
  )
  const worker = { ...REDIS_WORKER, variables: { REDIS_URL: redisUrl } }
  await addResults(name, list, () => serveWorker(program, project, worker, resultsAt))
}

async function resultsAt(url) {
  const response = await fetch(url)
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
  return response.json()
}

/** Each client of the example may send three requests per minute. */
async function expectExample(url) {
  const headers = { "cf-connecting-ip": "192.0.2.7" }
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await fetch(`${url}/a`, { headers })).status)
  if (statuses.join() !== "200,200,200,429") throw new Error(`the example answered ${statuses.join()}`)
}
