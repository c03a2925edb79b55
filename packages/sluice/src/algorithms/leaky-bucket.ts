// Leaky bucket: water leaks out at limit/window and may not rise above the capacity. As a meter it decides exactly as a
// token bucket; with `queue` an admitted request is also told to wait until the water in front of it has drained.

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

export const leakyBucket: Algorithm = {
  name: "leaky-bucket",
  cells: () => BUCKET_CELLS,
  decide: decideBucket,
  check: checkBucket,
  charge: chargeBucket,
  refund: refundBucket,
  used: usedBucket,
  expiresAt: bucketExpiresAt,
}
