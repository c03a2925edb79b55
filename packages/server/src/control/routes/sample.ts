import { z } from "zod"
import { type Route, route } from "../api/route.js"
import type { SampleTraffic } from "../api/sample-traffic.js"

const tag = "Service"
const path = "/sample-traffic"

const answer = {
  status: 202,
  description: "The traffic runs.",
  schema: z.object({ endsAt: z.number().meta({ description: "Milliseconds since 1970." }) }),
}

/** Only offered while the service runs the example rules on its own store, so that sample requests never enter real counters. */
export function sampleRoutes(sample: SampleTraffic | undefined): Route[] {
  if (sample === undefined) return []
  return [
    route({
      method: "POST",
      path,
      role: "editor",
      tag,
      summary: "Send sample requests for a minute",
      description:
        "There is one such minute at a time. Only while the example rules run on the memory store.",
      answer,
      run: () => ({ status: 202, json: { endsAt: sample.start() } }),
    }),
    route({
      method: "DELETE",
      path,
      role: "editor",
      tag,
      summary: "Stop the sample requests",
      answer: { status: 204, description: "Stopped." },
      run() {
        sample.stop()
        return { status: 204 }
      },
    }),
  ]
}
