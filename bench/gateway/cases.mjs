// The cases of the benchmark: which requests go to which contender.

/**
 * - `forward`: requests that pass, through every proxy.
 * - `check`: the same gateway with a rule and without any.
 * - `denied`: requests that the rule denies.
 */
export const cases = ["forward", "check", "denied"]

export const CONNECTIONS = 64
/** As many bytes as a small JSON answer has. */
export const BODY = JSON.stringify({ id: 7, name: "a backend's answer", tags: ["a", "b"], at: "2026-01-01" })

/**
 * @typedef {object} Contender
 * @property {string} name
 * @property {string} what  as shown in the docs
 * @property {readonly string[]} cases
 */

/** @type {readonly Contender[]} */
export const contenders = [
  {
    name: "sluice",
    what: "the gateway as people start it: one rule by address, metrics, an access log in JSON into a file",
    cases: ["forward", "check", "denied"],
  },
  {
    name: "sluice, no log",
    what: "the same without the access log, beside the proxies of npm, which write none",
    cases: ["forward"],
  },
  {
    name: "sluice, no rules",
    what: "the same with an empty rule set",
    cases: ["check"],
  },
  {
    name: "sluice, denied",
    what: "the same with a limit that is used up",
    cases: ["denied"],
  },
  {
    name: "nginx",
    what: "`proxy_pass` with kept connections, `limit_req` by address, an access log into a file; one process",
    cases: ["forward"],
  },
  {
    name: "http-proxy-3",
    what: "on node:http with an agent that keeps connections; no limit, no log",
    cases: ["forward"],
  },
  { name: "http-proxy", what: "the same", cases: ["forward"] },
  {
    name: "@fastify/http-proxy",
    what: "on fastify without its log, undici towards the backend; no limit",
    cases: ["forward"],
  },
  {
    name: "fast-proxy",
    what: "on node:http, undici towards the backend; no limit, no log",
    cases: ["forward"],
  },
  { name: "backend", what: "nginx that answers by itself, asked without a proxy", cases: ["forward"] },
]
