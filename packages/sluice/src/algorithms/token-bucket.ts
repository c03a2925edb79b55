// Token bucket: tokens come back at limit/window up to a capacity of burst, and start full. The debt kept is what is missing
// from a full bucket.

import { bucketNamed } from "./bucket.js"

export const tokenBucket = /* @__PURE__ */ bucketNamed("token-bucket")
