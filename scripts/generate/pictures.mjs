// The pictures in docs/pictures: what each algorithm allows, measured with the library.

import { boundaryPicture } from "./pictures/boundary.mjs"
import { calendarPicture } from "./pictures/calendar.mjs"
import { comparisonPicture } from "./pictures/comparison.mjs"
import { concurrencyPicture } from "./pictures/concurrency.mjs"
import { leasesPicture } from "./pictures/leases.mjs"
import { comparedAlgorithms } from "./pictures/measure.mjs"

/** @returns {Record<string, string>} */
export function generate() {
  return {
    "docs/pictures/fixed-window.svg": boundaryPicture("fixed-window", { algorithm: "fixed-window" }),
    "docs/pictures/calendar.svg": calendarPicture(),
    "docs/pictures/sliding-window-log.svg": boundaryPicture("sliding-window-log", {
      algorithm: "sliding-window-log",
    }),
    "docs/pictures/sliding-window-counter.svg": boundaryPicture("sliding-window-counter", {
      algorithm: "sliding-window-counter",
    }),
    "docs/pictures/sliding-window-counter-10.svg": boundaryPicture("sliding-window-counter, buckets: 10", {
      algorithm: "sliding-window-counter",
      buckets: 10,
    }),
    "docs/pictures/token-bucket.svg": boundaryPicture("token-bucket", { algorithm: "token-bucket" }),
    "docs/pictures/leaky-bucket.svg": boundaryPicture('leaky-bucket, overflow: "queue"', {
      algorithm: "leaky-bucket",
      overflow: "queue",
    }),
    "docs/pictures/gcra.svg": boundaryPicture("gcra, maxBurst: 9", { algorithm: "gcra", maxBurst: 9 }),
    "docs/pictures/concurrency.svg": concurrencyPicture(),
    "docs/pictures/leases.svg": leasesPicture(),
    "docs/pictures/comparison.svg": comparisonPicture(comparedAlgorithms),
  }
}
