// The layers of each package, lowest first. A file imports from its own layer or from a lower one, never from a higher one.
//
// A pattern is a file or a folder below src. The longest pattern that fits a file decides.

export const layers: Readonly<Record<string, readonly (readonly string[])[]>> = {
  sluice: [
    ["algorithms", "errors.ts"],
    [
      "atomic-file.ts",
      "calendar-options.ts",
      "lease-options.ts",
      "call-options.ts",
      "clock.ts",
      "duration.ts",
      "get-or-add.ts",
      "header-style.ts",
      "notify.ts",
      "foreign-options.ts",
      "options.ts",
      "penalty-options.ts",
      "policy.ts",
      "timeouts.ts",
    ],
    ["stores", "decision.ts"],
    ["limiter", "request"],
    ["rules/language", "rules/match"],
    ["usage"],
    ["rules/identity"],
    ["rules/engine", "rules/sources", "rules/import"],
    ["middleware/headers"],
    ["middleware/core"],
    ["middleware", "outgoing"],
    ["index.ts", "http.ts", "internal.ts", "rules/index.ts", "rules/internal.ts", "testing"],
  ],
  server: [
    [
      "byte-writer.ts",
      "certificates.ts",
      "config",
      "core.ts",
      "errors.ts",
      "held-bytes.ts",
      "listener.ts",
      "node-internals.ts",
      "version.ts",
    ],
    ["http", "rule-work"],
    ["http1", "http2", "telemetry"],
    ["check-api", "envoy", "resp", "replay"],
    ["control", "gateway", "record"],
    ["service"],
    ["index.ts", "main.ts"],
  ],
}
