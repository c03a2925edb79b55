// The server's own counters. `usec` of a command is its run time, without reading the request and writing the reply;
// the processor time of the main thread includes both.

/**
 * @typedef {object} Counters
 * @property {number} calls
 * @property {number} usec       the time they ran
 * @property {number} cpuMicros  processor time of the thread that runs commands
 */

/**
 * Starts counting, and returns how to read what has been counted since.
 * @param {import("ioredis").Redis} admin
 * @param {string} command  the one that checks are sent by
 * @returns {Promise<() => Promise<Counters>>}
 */
export async function startCounting(admin, command) {
  const read = async () => parseCounters(await admin.info("commandstats", "cpu"), command)
  await admin.config("RESETSTAT")
  const before = await read()
  return async () => {
    const { calls, usec, cpuMicros } = await read()
    if (calls === 0) throw new Error(`no check was sent by ${command}`)
    return { calls, usec, cpuMicros: cpuMicros - before.cpuMicros }
  }
}

/**
 * A script's own commands are counted again under their names, and other clients send a heartbeat now and then: only the
 * one command counts, or the few that a check consists of.
 * @param {string} info
 * @param {string} command
 * @returns {Counters}
 */
export function parseCounters(info, command) {
  let calls = 0
  let usec = 0
  for (const found of info.matchAll(new RegExp(`^cmdstat_(?:${command}):calls=(\\d+),usec=(\\d+)`, "gm"))) {
    calls += Number(found[1])
    usec += Number(found[2])
  }
  const [user, system] = ["user", "sys"].map((kind) =>
    Number(new RegExp(`^used_cpu_${kind}_main_thread:([\\d.]+)`, "m").exec(info)?.[1] ?? Number.NaN),
  )
  return { calls, usec, cpuMicros: (user + system) * 1e6 }
}
