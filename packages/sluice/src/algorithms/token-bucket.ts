// Token bucket: tokens come back at limit/window up to a capacity of burst, and start full. The debt kept is what is missing
// from a full bucket.

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

export const tokenBucket: Algorithm = {
  name: "token-bucket",
  cells: () => BUCKET_CELLS,
  decide: decideBucket,
  check: checkBucket,
  charge: chargeBucket,
  refund: refundBucket,
  used: usedBucket,
  expiresAt: bucketExpiresAt,
}
