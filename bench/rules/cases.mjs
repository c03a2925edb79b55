// Rule sets of any size, and requests that meet them. A set of ten and one of ten thousand are made alike.

import { seededRandom, zipf } from "../harness/random.mjs"

/** @typedef {import("../../packages/sluice/dist/rules/match/index.js").MatchSpec} MatchSpec */
/** @typedef {import("../../packages/sluice/dist/rules/match/index.js").RequestFacts} RequestFacts */
/** @typedef {{ method?: string, host?: string, path?: string, query?: string, headers?: Record<string, string>, tier?: string }} Ask */

/**
 * @typedef {object} Mix
 * @property {string} name
 * @property {string} title
 * @property {(i: number) => MatchSpec} rule
 * @property {(i: number, random: () => number) => Ask} ask  a request that meets rule i
 * @property {number} [kinds]  of rules that take turns, 1 if not given: each kind is requested equally often
 * @property {readonly MatchSpec[]} [others]  rules beside those, in sets of every size
 */

/** How many rules a set has: the figures of the two are compared. */
export const sizes = { small: 10, large: 10_000 }

const words = [
  "users",
  "orders",
  "items",
  "search",
  "reports",
  "files",
  "teams",
  "invoices",
  "events",
  "jobs",
]
const methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]

/** @param {number} i */
const word = (i) => words[i % words.length]

/**
 * Letters and digits, as ids are, no two the same. They are as long in a small set as in a large one: shorter texts are
 * looked up faster, however many there are.
 * @param {number} i
 */
const id = (i) => (Math.imul(i + 1, 0x9e3779b1) >>> 0).toString(36)

/** @type {readonly Mix[]} */
export const mixes = [
  {
    name: "exact-paths",
    title: "exact paths",
    rule: (i) => ({ path: `/api/${word(i)}/${id(i)}` }),
    ask: (i) => ({ path: `/api/${word(i)}/${id(i)}` }),
  },
  {
    name: "prefixes",
    title: "prefixes, `/v1/x/**`",
    rule: (i) => ({ path: `/v${i % 4}/${id(i)}/**` }),
    ask: (i, random) => ({ path: `/v${i % 4}/${id(i)}/${word(i)}/${id(Math.floor(random() * 1e6))}` }),
  },
  {
    name: "parameters",
    title: "parameters, `/x/:id/y`",
    rule: (i) => ({ path: `/${id(i)}/:id/${word(i)}` }),
    ask: (i, random) => ({ path: `/${id(i)}/${Math.floor(random() * 1e6)}/${word(i)}` }),
  },
  {
    name: "globs",
    title: "globs, `/files/x-*.png`",
    rule: (i) => ({ path: `/files/${id(i)}-*.png` }),
    ask: (i, random) => ({ path: `/files/${id(i)}-${Math.floor(random() * 1e6)}.png` }),
  },
  {
    name: "method-and-path",
    title: "method and path",
    rule: (i) => ({ method: methods[i % 5], path: `/api/${id(Math.floor(i / 5))}` }),
    ask: (i) => ({ method: methods[i % 5], path: `/api/${id(Math.floor(i / 5))}` }),
  },
  {
    name: "hosts",
    title: "hosts",
    rule: (i) => ({ host: i % 5 === 0 ? `*.${id(i)}.example.com` : `${id(i)}.example.com` }),
    ask: (i) => ({ host: i % 5 === 0 ? `eu.${id(i)}.example.com:443` : `${id(i)}.example.com` }),
    kinds: 5,
  },
  {
    name: "header-values",
    title: "values of one header",
    rule: (i) => ({ header: { "x-tenant": id(i) } }),
    ask: (i) => ({ headers: { "x-tenant": id(i) } }),
  },
  {
    name: "query-values",
    title: "values of one query parameter",
    rule: (i) => ({ query: { tenant: id(i) } }),
    ask: (i) => ({ query: `page=2&tenant=${id(i)}` }),
  },
  {
    name: "tiers",
    title: "tiers",
    rule: (i) => ({ tier: id(i) }),
    ask: (i) => ({ tier: id(i) }),
  },
  {
    name: "grid",
    title: "hosts × paths, none rare",
    rule: (i) => ({ host: `${id(i % 100)}.example.com`, path: `/api/${id(Math.floor(i / 100))}/**` }),
    ask: (i) => ({ host: `${id(i % 100)}.example.com`, path: `/api/${id(Math.floor(i / 100))}/${word(i)}` }),
  },
  {
    name: "mixed",
    title: "all of these, and three catch-alls",
    rule: (i) => kindOf(i).rule(i),
    ask: (i, random) => kindOf(i).ask(i, random),
    kinds: 10,
    others: [{}, { path: "/**" }, { method: ["POST", "PUT"] }],
  },
]

/** The mixes above the last take turns. @param {number} i */
function kindOf(i) {
  return mixes[i % (mixes.length - 1)]
}

/** @param {string} name */
export function mixNamed(name) {
  const mix = mixes.find((mix) => mix.name === name)
  if (mix === undefined) throw new Error(`there is no mix ${name}`)
  return mix
}

/**
 * @param {Mix} mix
 * @param {number} size
 * @returns {MatchSpec[]}
 */
export function rulesOf({ rule, others = [] }, size) {
  return [...others, ...Array.from({ length: size }, (_, i) => rule(i))]
}

/** How many requests are drawn, over and over. A power of two. */
const DRAWS = 2 ** 18

/**
 * A source of requests. Each meets a rule drawn from all of its kind: by Zipf's law, as tenants and pages are asked for, or
 * each as often as any other, which no cache can help with. Their strings are new and flat, as if they came from a socket:
 * nothing is known of them from before.
 * @param {Mix} mix
 * @param {number} size
 * @param {"zipf" | "even"} draw
 * @returns {() => RequestFacts}
 */
export function requestSource({ ask, kinds = 1 }, size, draw) {
  const random = seededRandom(1)
  const rules = size / kinds
  const drawn =
    draw === "zipf"
      ? zipf(rules, DRAWS, random)
      : Uint32Array.from({ length: DRAWS }, () => Math.floor(random() * rules))
  let next = 0
  return () => {
    const kind = kinds === 1 ? 0 : Math.floor(random() * kinds)
    return factsOf(ask(drawn[next++ & (DRAWS - 1)] * kinds + kind, random))
  }
}

/**
 * @param {Ask} ask
 * @returns {RequestFacts}
 */
function factsOf({ method = "GET", host = "api.example.com", path = "/", query = "", headers = {}, tier }) {
  /** @type {Record<string, string>} */
  const all = { accept: "*/*", "user-agent": "bench" }
  for (const name in headers) all[name] = fresh(headers[name])
  return {
    method: fresh(method),
    host: fresh(host),
    path: fresh(path),
    query: fresh(query),
    tier: tier === undefined ? undefined : fresh(tier),
    header: (name) => all[name],
  }
}

/** @param {string} text */
function fresh(text) {
  return Buffer.from(text, "latin1").toString("latin1")
}
