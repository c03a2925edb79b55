// Parses the comment at the top of an example: what to run, and what it prints. The test compares both.

/** A line `curl -i … http://127.0.0.1:3000/path → 200; text of the body; name: value`. */
export interface Exchange {
  readonly line: string
  readonly path: string
  readonly init: { readonly method: string; readonly headers: Record<string, string>; readonly body?: string }
  readonly status: number
  /** Parts of the body. */
  readonly texts: readonly string[]
  /** `none`: the header is not there. */
  readonly headers: readonly (readonly [name: string, value: string])[]
}

export interface Transcript {
  /** The file that is run. */
  readonly script: string
  readonly prints: readonly string[]
  readonly exchanges: readonly Exchange[]
}

export function readTranscript(source: string): Transcript {
  const comment = source.slice(0, source.search(/^[^/]/m)).replace(/^\/\/ ?/gm, "")
  const script = /^ {2}(?:npm run build && )?node (\S+)$/m.exec(comment)?.[1]
  if (script === undefined) throw new Error("the comment does not say what to run")
  return {
    script,
    prints: [...comment.matchAll(/^ {2}prints: (.+)$/gm)].map(([, text]) => text as string),
    exchanges: [...comment.matchAll(/^ {2}(curl .+)$/gm)].map(([, line]) => exchangeOf(line as string)),
  }
}

const CURL =
  /^curl -i((?: -H '[^']+'| -d '[^']+')*) http:\/\/127\.0\.0\.1:3000(\/\S*)\s+→ (\d{3})((?:; .+)?)$/

function exchangeOf(line: string): Exchange {
  const [, options = "", path = "", status = "", rest = ""] = CURL.exec(line) ?? []
  if (path === "") throw new Error(`cannot be read: ${line}`)
  const headers: Record<string, string> = {}
  for (const [, name, value] of options.matchAll(/ -H '([^:']+): ([^']+)'/g))
    headers[name as string] = value as string
  const body = / -d '([^']+)'/.exec(options)?.[1]
  // A claim about a header may contain the separator: `ratelimit: "a";r=1`, which no space follows there.
  const claims = rest.split("; ").slice(1)
  const isHeader = (claim: string): boolean => /^[a-z-]+: /.test(claim)
  return {
    line,
    path,
    init:
      body === undefined
        ? { method: "GET", headers }
        : {
            method: "POST",
            headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
            body,
          },
    status: Number(status),
    texts: claims.filter((claim) => !isHeader(claim)),
    headers: claims.filter(isHeader).map((claim) => {
      const [name = "", ...value] = claim.split(": ")
      return [name, value.join(": ")] as const
    }),
  }
}
