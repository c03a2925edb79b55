// Replays access logs through candidate rules.

import { z } from "zod"
import type { Core } from "../../core.js"
import { checkType } from "../api/body.js"
import { type Route, route } from "../api/route.js"
import { replayReport } from "../api/schemas.js"
import { REPLAY_TYPE } from "../replay/replay-plan.js"
import type { Replays } from "../replay/replays.js"
import { sampleLog } from "../replay/sample-log.js"

const tag = "Replay"

export function replayRoutes({ rules }: Core, replays: Replays, maxBodyBytes: number): Route[] {
  return [
    route({
      method: "POST",
      path: "/replay",
      role: "editor",
      tag,
      summary: "Try rules on an access log",
      description:
        'The body is one line of JSON, and behind it the log as it is, plain or gzip: `{"candidates":[{"name":"in force"},{"name":"stricter","rules":"version: 1…"}]}`. A candidate without `rules` is the set in force. `format` may name that of the log, and `cost` where it tells real costs. Runs beside decisions, one log at a time.',
      upload: { types: [REPLAY_TYPE], schema: { type: "string", format: "binary" } },
      answer: { description: "What each candidate would have denied, whom, and when.", schema: replayReport },
      async run({ request, response }) {
        checkType(request, [REPLAY_TYPE])
        const { document: current } = rules.current
        return { json: await replays.run(request, response, { current, maxPlanBytes: maxBodyBytes }) }
      },
    }),
    route({
      method: "GET",
      path: "/replay/sample",
      role: "reader",
      tag,
      summary: "Get a sample access log",
      description: "Six generated hours of an API behind the example rules.",
      answer: {
        description: "A log in combined format.",
        schema: z.string(),
        types: ["text/plain"],
      },
      run: () => ({ content: sampleLog(), type: "text/plain; charset=utf-8" }),
    }),
  ]
}
