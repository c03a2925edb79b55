/**
 * Who takes part in the comparison, in the picture and in the table.
 *
 * @type {{ title: string, choice: import("./measure.mjs").Choice }[]}
 */
export const contenders = [
  { title: "fixed-window", choice: { algorithm: "fixed-window" } },
  { title: "sliding-window-counter", choice: { algorithm: "sliding-window-counter" } },
  {
    title: "sliding-window-counter, buckets: 10",
    choice: { algorithm: "sliding-window-counter", buckets: 10 },
  },
  { title: "sliding-window-log", choice: { algorithm: "sliding-window-log" } },
  // The two others decide as the token bucket does: they would be the same row again.
  { title: "token-bucket, leaky-bucket, gcra", choice: { algorithm: "token-bucket" } },
  {
    title: 'leaky-bucket, overflow: "queue"',
    choice: { algorithm: "leaky-bucket", overflow: "queue" },
  },
]
