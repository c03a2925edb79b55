// GCRA, as redis-cell knows it: `max_burst` and `count per period`. The same decisions as a token bucket with a capacity of
// max_burst + 1, under the name people look for.

import type { Algorithm } from "./algorithm.js"
import {
  BUCKET_CELLS,
  bucketExpiresAt,
  chargeBucket,
  checkBucket,
  decideBucket,
  refundBucket,
  usedBucket,
} from "./bucket.js"

export const gcra: Algorithm = {
  name: "gcra",
  cells: () => BUCKET_CELLS,
  decide: decideBucket,
  check: checkBucket,
  charge: chargeBucket,
  refund: refundBucket,
  used: usedBucket,
  expiresAt: bucketExpiresAt,
}
