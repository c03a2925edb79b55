// GCRA, as redis-cell knows it: `max_burst` and `count per period`. The same decisions as a token bucket with a capacity of
// max_burst + 1, under the name people look for.

import { bucketNamed } from "./bucket.js"

export const gcra = /* @__PURE__ */ bucketNamed("gcra")
