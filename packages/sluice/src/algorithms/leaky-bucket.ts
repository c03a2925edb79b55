// Leaky bucket: water leaks out at limit/window and may not rise above the capacity. As a meter it decides exactly as a
// token bucket; with `queue` an admitted request is also told to wait until the water in front of it has drained.

import { bucketNamed } from "./bucket.js"

export const leakyBucket = /* @__PURE__ */ bucketNamed("leaky-bucket")
