// One contender in one process: what the engine learnt from another contender's code must not change this one's figures.

import { fork } from "node:child_process"

/** @typedef {{ ask: (question: string, detail?: object) => Promise<any>, stop: () => void }} Child */

/**
 * Starts a module that calls `answer`, with the garbage collector in reach.
 * @param {URL} module
 * @returns {Child}
 */
export function startChild(module) {
  const child = fork(module, { execArgv: ["--expose-gc"], stdio: ["ignore", 2, 2, "ipc"] })
  return {
    ask(question, detail = {}) {
      return new Promise((resolve, reject) => {
        /** @param {number | null} code */
        const ended = (code) =>
          reject(new Error(`${module.pathname} ended with ${code} when asked to ${question}`))
        child.once("exit", ended)
        child.once("message", (/** @type {any} */ reply) => {
          child.off("exit", ended)
          resolve(reply)
        })
        child.send({ question, detail })
      })
    },
    stop: () => void child.kill(),
  }
}

/**
 * Starts a module, sends it one request, and ends it.
 * @param {URL} module
 * @param {object} detail
 */
export async function askOnce(module, detail) {
  const child = startChild(module)
  try {
    return await child.ask("run", detail)
  } finally {
    child.stop()
  }
}

/**
 * In the child: answers requests by name. An error ends the process, and with it the benchmark.
 * @param {Record<string, (detail: any) => unknown>} answers
 */
export function answer(answers) {
  process.on("disconnect", () => process.exit())
  process.on("message", async (/** @type {{ question: string, detail: object }} */ { question, detail }) => {
    const reply = await answers[question]?.(detail)
    process.send?.(reply ?? {})
  })
}

/** Collects all garbage, so that earlier work does not slow a measurement down. */
export function collectGarbage() {
  if (globalThis.gc === undefined) throw new Error("needs node --expose-gc")
  globalThis.gc()
  globalThis.gc()
}
