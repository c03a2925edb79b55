// Bodies made to take as long as possible to read or to check, each as large as a body may be.

export interface WorstBody {
  readonly name: string
  readonly type: "json" | "yaml"
  readonly text: string
}

const MAX_BYTES = 262_144

/** As many copies as a body has room for, made by number, between a start and an end. */
function filled(start: string, piece: (i: number) => string, end = ""): string {
  const parts = [start]
  let room = MAX_BYTES - start.length - end.length
  for (let i = 0; ; i++) {
    const next = piece(i)
    room -= next.length
    if (room < 0) break
    parts.push(next)
  }
  return parts.join("") + end
}

const rule = (inner: string) => `{"version":1,"rules":[{"id":"a","limits":"unlimited",${inner}}]}`

/** One level of aliases: a list of mistakes, and 99 times the same list. 2 KB stopped the process for 19 seconds. */
function aliasBomb(bytes: number): string {
  const aliases = `a: &a [${"{},".repeat((bytes - 900) / 3)}{}]\n`
  return `${aliases}version: 1\nrules: [${Array.from({ length: 99 }, () => "*a").join()}]\n`
}

/** Rule sets, all of them wrong. */
export function worstSets(): WorstBody[] {
  const yaml = (name: string, text: string): WorstBody => ({ name, type: "yaml", text })
  const json = (name: string, text: string): WorstBody => ({ name, type: "json", text })
  return [
    yaml("2 KB of aliases", aliasBomb(2_048)),
    yaml("8 KB of aliases", aliasBomb(8_192)),
    yaml("aliases to the limit", aliasBomb(MAX_BYTES)),
    yaml(
      "aliases of aliases",
      filled("a0: &a0 [1]\n", (i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join()}]\n`),
    ),
    yaml(
      "many keys in a map",
      filled("version: 1\n", (i) => `k${i}: 1\n`),
    ),
    yaml(
      "merge keys",
      filled("version: 1\n", () => "<<: {a: 1}\n"),
    ),
    yaml(
      "broken flow collections",
      filled("", () => "a: [\n}\n"),
    ),
    yaml(
      "open brackets",
      filled("", () => "["),
    ),
    yaml(
      "one long plain scalar",
      filled("version: ", () => "word "),
    ),
    yaml(
      "a plain scalar of many lines",
      filled("version: a\n", () => " b\n"),
    ),
    yaml(
      "many documents",
      filled("", () => "--- 1\n"),
    ),
    yaml(
      "keys that are maps",
      filled("version: 1\n", (i) => `? {a: [${i}]}\n: 1\n`),
    ),
    yaml(
      "deep by indent",
      filled("", (i) => `${" ".repeat(i % 250)}a:\n`),
    ),
    json(
      "rules without anything",
      filled('{"version":1,"rules":[', () => "{},", "{}]}"),
    ),
    json(
      "unknown fields",
      filled('{"version":1', (i) => `,"f${i}":1`, "}"),
    ),
    json(
      "unknown fields of a rule",
      filled('{"version":1,"rules":[{"id":"a"', (i) => `,"f${i}":1`, "}]}"),
    ),
    json(
      "numbers for clients",
      filled('{"version":1,"rules":[],"deny":[', () => "1,", "1]}"),
    ),
    json(
      "addresses that are none",
      filled('{"version":1,"rules":[],"deny":[', () => '"ip:x",', '"ip:x"]}'),
    ),
    json("a long name above mistakes", longName()),
    json(
      "limits",
      filled('{"version":1,"rules":[{"id":"a","limits":[', () => '{"limit":1},', "{}]}]}"),
    ),
    json(
      "limits that are right",
      filled(
        '{"version":1,"rules":[{"id":"a","limits":[',
        (i) => `{"limit":1,"window":${i + 1}},`,
        '{"limit":1,"window":1}]}]}',
      ),
    ),
    json(
      "one long glob",
      filled(rule('"match":{"header":{"a":"').slice(0, -3), () => "*a", '"}}}]}'),
    ),
    json(
      "hosts",
      filled(rule('"match":{"host":[').slice(0, -3), (i) => `"*.h${i}.x!",`, '"a"]}}]}'),
    ),
    json(
      "references",
      filled('{"version":1,"rules":[],"overrides":[{"rule":[', () => '"a",', '"a"]}]}'),
    ),
    json(
      "proxies",
      filled('{"version":1,"rules":[],"identity":{"trustedProxies":[', () => '"x",', '"x"]}}'),
    ),
  ]
}

/** Rule sets that are right, and as much work as they can be. */
export function rightSets(): WorstBody[] {
  const json = (name: string, text: string): WorstBody => ({ name, type: "json", text })
  const LIMITS = '"limits":[{"limit":1,"window":"1m"}]'
  const LAST = `{"id":"x",${LIMITS}}]}`
  return [
    json(
      "many rules",
      filled('{"version":1,"rules":[', (i) => `{"id":"r${i}",${LIMITS}},`, `{"id":"x",${LIMITS}}]}`),
    ),
    json(
      "many rules with globs",
      filled(
        '{"version":1,"rules":[',
        (i) => `{"id":"r${i}","match":{"path":"/*a*a${i}/*/**","host":"*.h${i}.x"},${LIMITS}},`,
        `{"id":"x",${LIMITS}}]}`,
      ),
    ),
    json(
      "many clients",
      filled('{"version":1,"rules":[],"deny":[', (i) => `"user:${i}",`, '"user:x"]}'),
    ),
    json(
      "many addresses",
      filled(
        '{"version":1,"rules":[],"deny":[',
        (i) => `"ip:10.${i >> 16}.${(i >> 8) & 255}.${i & 255}",`,
        '"ip:::1"]}',
      ),
    ),
    json(
      "many paths",
      filled(rule('"match":{"path":[').slice(0, -3), (i) => `"/a/${i}/*b*/c",`, '"/"]}}]}'),
    ),
    json(
      "many paths of stars",
      filled(rule('"match":{"path":[').slice(0, -3), () => '"/*/*/*/*/*/*/*/*",', '"/"]}}]}'),
    ),
    json(
      "many hosts",
      filled(rule('"match":{"host":[').slice(0, -3), (i) => `"*.h${i}.x",`, '"a"]}}]}'),
    ),
    json(
      "many headers",
      filled(rule('"match":{"header":{').slice(0, -3), (i) => `"h${i}":"*a*b*",`, '"a":"b"}}}]}'),
    ),
    json("key parts and paths", keyPartsAndPaths()),
    json(
      "globs",
      filled(rule('"match":{"path":[').slice(0, -3), () => '"/*a*a*a*/**/*b*b",', '"/"]}}]}'),
    ),
    json(
      "a large answer",
      filled(rule('"response":{"body":{"a":[').slice(0, -3), () => "{},", "0]}}}]}"),
    ),
    json(
      "tiers",
      filled(rule('"tiers":{').slice(0, -3), (i) => `"t${i}":{${LIMITS}},`, `"x":"unlimited"}}]}`),
    ),
    json(
      "rules with lists of paths",
      filled(
        '{"version":1,"rules":[',
        (i) => `{"id":"r${i}",${LIMITS},"match":{"path":[${pathsOf(i)}]}},`,
        LAST,
      ),
    ),
    json(
      "rules that share paths and hosts",
      filled('{"version":1,"rules":[', (i) => `{"id":"r${i}",${LIMITS},"match":{${sharedLists(i)}}},`, LAST),
    ),
    json(
      "rules with globs in headers",
      filled(
        '{"version":1,"rules":[',
        (i) => `{"id":"r${i}",${LIMITS},"match":{"header":{"a":"*${i}*"}}},`,
        LAST,
      ),
    ),
    json(
      "costs by path",
      filled(
        '{"version":1,"rules":[{"id":"a","limits":"unlimited","cost":{"by":[',
        (i) => `{"path":"/*${i}*/b","cost":2},`,
        '{"path":"/","cost":2}]}}]}',
      ),
    ),
    json(
      "descriptors",
      filled(
        '{"version":1,"rules":[',
        (i) => `{"id":"r${i}",${LIMITS},"match":{"domain":"d","descriptor":[{"key":"a"}]}},`,
        LAST,
      ),
    ),
    json(
      "statuses",
      filled(rule(`"refundOn":[`).slice(0, -3), () => '"5xx",', '"5xx"]}]}'),
    ),
    json(
      "proxies",
      JSON.stringify({
        version: 1,
        rules: [],
        identity: { trustedProxies: Array.from({ length: 2_000 }, (_, i) => ipv6Range(i)) },
      }),
    ),
    json(
      "ranges of addresses",
      filled('{"version":1,"rules":[],"deny":[', (i) => `"ip:${ipv6Range(i)}",`, '"ip:::1"]}'),
    ),
    json(
      "overrides of one client",
      filled(
        '{"version":1,"rules":[],"overrides":[',
        () => '{"client":"user:a","limits":"unlimited"},',
        '{"client":"user:a","limits":"unlimited"}]}',
      ),
    ),
    json(
      "overrides",
      filled(
        '{"version":1,"rules":[],"overrides":[',
        (i) => `{"client":"user:${i}",${LIMITS}},`,
        `{"client":"user:x",${LIMITS}}]}`,
      ),
    ),
  ]
}

/** As many paths as the index of rules takes of one rule, none of them plain. */
function pathsOf(rule: number): string {
  return Array.from({ length: 60 }, (_, i) => `"/${rule}*${i}/*"`).join()
}

/** Paths and hosts that each rule has in common with some others. */
function sharedLists(rule: number): string {
  const some = (word: (i: number) => string) =>
    Array.from({ length: 40 }, (_, i) => `"${word((rule * 7 + i * 11) % 300)}"`).join()
  return `"path":[${some((i) => `/${i}`)}],"host":[${some((i) => `h${i}`)}]`
}

/** Ranges of every width. */
function ipv6Range(i: number): string {
  return `2001:${(i & 0xffff).toString(16)}::/${32 + (i % 97)}`
}

/** Questions about a request, some of them no questions. */
export function worstRequests(): WorstBody[] {
  const json = (name: string, text: string): WorstBody => ({ name, type: "json", text })
  return [
    json(
      "open brackets",
      filled("", () => "["),
    ),
    json(
      "objects in objects",
      filled('{"a":', () => '{"a":'),
    ),
    json("a deep value", `{"headers":${"[".repeat(131_000)}${"]".repeat(131_000)}}`),
    json(
      "many names",
      filled("{", (i) => `"f${i}":1,`, '"x":1}'),
    ),
    json(
      "a long path",
      filled('{"path":"/v1', () => "/a", '"}'),
    ),
    json("a path of dots", `{"path":"${"/../%2e".repeat(2_300)}"}`),
    json("one header in many spellings", filled('{"headers":{', spelling, '"x":"1"}}')),
    json(
      "one header with many values",
      filled('{"headers":{"a":[', () => '"a",', '"a"]}}'),
    ),
    json(
      "a long header",
      filled('{"headers":{"a":"', () => "a, b;", '"}}'),
    ),
    json(
      "cookies",
      filled('{"headers":{"cookie":"', () => "a=b;", '"}}'),
    ),
    json(
      "descriptors",
      filled('{"domain":"d","descriptors":[', () => '{"entries":[]},', '{"entries":[]}]}'),
    ),
    json(
      "entries of a descriptor",
      filled('{"domain":"d","descriptors":[{"entries":[', () => '{"key":"a","value":"b"},', "{}]}]}"),
    ),
  ]
}

/** The same name in other capitals each time, with a list of values. */
function spelling(i: number): string {
  const name = [...i.toString(2).padStart(10, "0")].map((bit) => (bit === "1" ? "A" : "a")).join("")
  return i < 1_000 ? `"${name}":[${'"v",'.repeat(50)}"v"],` : `"${name}${i}":"",`
}

function longName(): string {
  const name = "n".repeat(MAX_BYTES / 2)
  return filled(`{"version":1,"rules":[],"tiers":{"${name}":[`, () => "1,", "1]}}")
}

function keyPartsAndPaths(): string {
  const parts = Array.from({ length: 8_000 }, () => '"param:a"').join()
  return filled(rule(`"keyBy":[${parts}],"match":{"path":[`).slice(0, -3), () => '"/:a",', '"/:a"]}}]}')
}
