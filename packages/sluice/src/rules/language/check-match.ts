import { SluiceError } from "../../errors.js"
import { type ApiKeyPlace, isCredential } from "./credential.js"
import { parseHostPattern } from "./host-pattern.js"
import { parseKeyPart } from "./key-part.js"
import { parsePathPattern } from "./path-pattern.js"
import { asList, asMap, type ProblemList, texts } from "./problem-list.js"
import type { Path } from "./schema-issues.js"
import { parseValuePattern } from "./value-pattern.js"

/** A token of HTTP: the name of a method or of a header. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/

/** Checks the patterns of a `match`, or of an entry of `cost.by`. */
export function checkMatch(
  found: ProblemList,
  match: Record<string, unknown>,
  at: Path,
  apiKeyPlace: ApiKeyPlace,
): void {
  checkDescriptor(found, match, at)
  found.each(match.path, [...at, "path"], (text) => parsePathPattern(text, ""))
  found.each(match.host, [...at, "host"], (text) => parseHostPattern(text, ""))
  found.each(match.method, [...at, "method"], (text) => {
    if (!TOKEN.test(text)) throw invalid("must be an HTTP method", text)
  })
  for (const part of ["header", "query"]) {
    for (const [name, values] of Object.entries(asMap(match[part]))) {
      if (part === "header") checkHeaderName(found, name, [...at, part, name])
      const isSecret = isCredential(apiKeyPlace, part, name.toLowerCase())
      found.each(values, [...at, part, name], (text) => {
        if (isSecret) checkCredentialPattern(text)
        else parseValuePattern(text, "")
      })
    }
  }
}

export function checkHeaderName(found: ProblemList, name: unknown, at: Path): void {
  if (typeof name === "string" && !TOKEN.test(name))
    found.add("RULE_FIELD_INVALID", at, "must be the name of a header")
}

/** Checks the parts of a key. A part `param:id` requires `:id` in each of the paths. */
export function checkKeyBy(found: ProblemList, keyBy: unknown, at: Path, path: unknown): void {
  const paths = texts(path)
  /** The segments of each path. A path is split once, however many parts the key has. */
  let segments: readonly ReadonlySet<string>[] | undefined
  const checked = new Set<string>()
  found.each(keyBy, at, (text) => {
    const part = parseKeyPart(text, "")
    if (part.kind !== "param" || checked.has(part.name)) return
    segments ??= paths.map((one) => new Set(one.split("/")))
    const lacking = paths[segments.findIndex((names) => !names.has(`:${part.name}`))]
    if (paths.length > 0 && lacking === undefined) {
      checked.add(part.name)
      return
    }
    throw new SluiceError("RULE_REFERENCE_UNKNOWN", {
      place: "",
      expected: `requires :${part.name} in every path of the rule`,
      found: lacking ?? "no path",
    })
  })
}

function checkDescriptor(
  found: ProblemList,
  { domain, descriptor, ...others }: Record<string, unknown>,
  at: Path,
): void {
  if (descriptor === undefined && domain === undefined) return
  const other = Object.keys(others)[0]
  if (other !== undefined)
    found.add("RULE_FIELD_INVALID", [...at, other], "cannot be combined with domain and descriptor")
  for (const [field, value] of Object.entries({ domain, descriptor })) {
    if (value === undefined)
      found.add("RULE_FIELD_INVALID", [...at, field], "is required: domain and descriptor go together")
  }
  asList(descriptor).forEach((entry, i) => {
    const { value, not } = asMap(entry)
    found.each(value, [...at, "descriptor", i, "value"], (text) => parseValuePattern(text, ""))
    found.each(not, [...at, "descriptor", i, "not"], (text) => parseValuePattern(text, ""))
  })
}

/** Rule sets are stored, logged and shown, so that none may contain a credential in clear text. */
function checkCredentialPattern(text: string): void {
  if (!text.includes("*")) {
    throw invalid(
      "must be true or a glob with *, never a credential; lists and tiers name API keys by their hash",
    )
  }
  parseValuePattern(text, "")
}

function invalid(expected: string, found?: string): SluiceError {
  return new SluiceError("RULE_FIELD_INVALID", {
    place: "",
    expected,
    ...(found === undefined ? {} : { found }),
  })
}
