// The first line of a replay's body: JSON that says which rules to try. The log follows unchanged in the same body, so that neither
// side has to hold it in memory.

import { SluiceError } from "sluice"
import { z } from "zod"
import { tooLarge } from "../../http/body.js"
// Not from the index of replay, which would load its thirty files with every start of the service.
import { LOG_FORMATS } from "../../replay/model/replay-options.js"
import { checkBody } from "../api/checked.js"
import { parseChecked } from "../api/json.js"

export const REPLAY_TYPE = "application/x-sluice-replay"
/** Each candidate has its own counters, so four cost four times as much as one. */
const MAX_CANDIDATES = 4

const candidate = z.strictObject({
  name: z.string().min(1).max(64).meta({ description: "What the report calls it." }),
  rules: z
    .union([z.string().min(1), z.looseObject({})])
    .optional()
    .meta({ description: "A rule set, as YAML text or as an object. Default: the rules in force." }),
})

export const replayPlan = z.strictObject({
  candidates: z
    .array(candidate)
    .min(1)
    .max(MAX_CANDIDATES)
    .refine(
      (list) => new Set(list.map(({ name }) => name)).size === list.length,
      "every name must be another",
    )
    .meta({ description: "Rules to try, side by side." }),
  format: z
    .union([z.enum(LOG_FORMATS), z.strictObject({ nginx: z.string().min(1).max(4_096) })])
    .optional()
    .meta({ description: "Of the log; an object holds a log_format of nginx. Default: found out." }),
  cost: z
    .union([
      z.strictObject({
        field: z.union([z.string().min(1).max(256), z.record(z.string().min(1).max(256), z.number().min(0))]),
      }),
      z.strictObject({ bytesPerUnit: z.number().positive() }),
    ])
    .optional()
    .meta({
      description:
        "How the log tells the real cost, for rules that take it from the response: a field of the log or several with weights, or the bytes of a response that cost one unit. Default: these rules keep their estimate.",
    }),
})
export type ReplayPlan = z.output<typeof replayPlan>

const NEWLINE = 0x0a

/** Reads the first line and leaves the rest of the body unread. */
export async function readPlan(
  body: AsyncIterator<Buffer>,
  maxBytes: number,
): Promise<{ readonly plan: ReplayPlan; readonly rest: Buffer }> {
  const parts: Buffer[] = []
  let size = 0
  for (;;) {
    const { value, done } = await body.next()
    if (done)
      throw new SluiceError("LOG_IO", { place: "body", expected: "must contain a log after its first line" })
    const end = value.indexOf(NEWLINE)
    parts.push(end === -1 ? value : value.subarray(0, end))
    size += end === -1 ? value.length : end
    if (size > maxBytes) throw tooLarge(maxBytes)
    if (end === -1) continue
    return { plan: checkBody(replayPlan, parseChecked(Buffer.concat(parts))), rest: value.subarray(end + 1) }
  }
}
