import { SluiceError } from "sluice"
import { readLog } from "./log/read-log.js"
import type { LogChunks, ReplayOptions } from "./model/replay-options.js"
import type { ReplayReport } from "./model/report.js"
import { CandidateRun } from "./tally/candidate-run.js"
import { ClientTable } from "./tally/client-table.js"

/**
 * Runs a log through candidate rules, with the times of the log. It reads the log as a stream: memory grows with the number of
 * keys that are counted at once, not with the length of the log.
 */
export async function replay(chunks: LogChunks, options: ReplayOptions): Promise<ReplayReport> {
  const { rules, secret, ...logOptions } = options
  if (rules.length === 0)
    throw new SluiceError("OPTION_MISSING", { place: "replay.rules", expected: "must name at least one set" })
  const runs: CandidateRun[] = []
  try {
    for (const candidate of rules) runs.push(new CandidateRun(candidate, secret))
    const clients = new ClientTable(runs.length)
    let from: number | undefined
    let to: number | undefined
    const read = await readLog(
      chunks,
      (request) => {
        const { at } = request
        if (from === undefined || at < from) from = at
        if (to === undefined || at > to) to = at
        clients.request(request)
        for (let i = 0; i < runs.length; i++)
          if ((runs[i] as CandidateRun).decide(request)) clients.denied(request, i, at)
      },
      // A rule set that uses headers contains this word.
      { ...logOptions, headers: /header|cookie/i.test(JSON.stringify(runs.map(({ document }) => document))) },
    )
    return {
      ...read,
      from,
      to,
      clients: clients.clients,
      stepMs: (runs[0] as CandidateRun).stepMs,
      candidates: runs.map((run, i) => run.report(clients.hurtBy(i))),
    }
  } finally {
    await Promise.all(runs.map((run) => run.close()))
  }
}
