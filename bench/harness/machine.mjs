import { availableParallelism, cpus, loadavg, totalmem } from "node:os"

/** What figures depend on, taken before anything is measured. */
export function describeMachine() {
  const [load = 0] = loadavg()
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    date: new Date().toISOString().slice(0, 10),
    loadBefore: Math.round(load * 100) / 100,
    /** Half a core busy with something else is already enough to see. */
    quiet: load < 0.5,
  }
}

/** @param {ReturnType<typeof describeMachine>} machine */
export function machineLine({ cpu, cores, memoryGiB, platform, node, date, loadBefore, quiet }) {
  const condition = quiet ? "quiet" : "BUSY with other work: times are provisional, ratios less so"
  return `${cpu}, ${cores} cores, ${memoryGiB} GiB, ${platform}, Node ${node.slice(1)}, ${date}, load average ${loadBefore} before the run (${condition})`
}
