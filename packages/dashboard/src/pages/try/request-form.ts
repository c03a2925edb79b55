// The request in the form, in the address of the page, and in the body of `POST /explain`.

export const FIELDS = ["method", "path", "host", "ip", "user", "apiKey", "tier", "headers", "cost"] as const
export type FieldName = (typeof FIELDS)[number]
export type RequestForm = Readonly<Record<FieldName, string>>

/** The initial request. Its address is reserved for documentation. */
const STANDARD: Partial<RequestForm> = { method: "GET", path: "/", ip: "203.0.113.7" }

/** The fields in the address. People share links, so the API key and headers, which can hold secrets, are never in it. */
const SHARED: readonly FieldName[] = ["method", "path", "host", "ip", "user", "tier", "cost"]

export function formFrom(query: URLSearchParams): RequestForm {
  const entries = FIELDS.map((name) => [name, (isShared(name) && query.get(name)) || STANDARD[name] || ""])
  return Object.fromEntries(entries)
}

export function queryOf(form: RequestForm): Record<string, string> {
  return Object.fromEntries(SHARED.flatMap((name) => (form[name] === "" ? [] : [[name, form[name]]])))
}

/** A line that is not a header. */
export class HeaderMistake extends Error {
  readonly line: string

  constructor(line: string) {
    super(`no header: ${line}`)
    this.line = line
  }
}

/** The body of `POST /explain`. Throws a HeaderMistake. */
export function questionOf(form: RequestForm): Record<string, unknown> {
  const { headers, cost, ...texts } = form
  const question: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(texts)) if (value.trim() !== "") question[name] = value.trim()
  // The service reports what is wrong with a cost that is not a number.
  if (cost.trim() !== "") question.cost = /^\d+$/.test(cost.trim()) ? Number(cost) : cost
  const parsed = headersFrom(headers)
  if (Object.keys(parsed).length > 0) question.headers = parsed
  return question
}

function headersFrom(text: string): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {}
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue
    const [, name, value] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) throw new HeaderMistake(line.trim())
    const before = headers[name]
    headers[name] = before === undefined ? value : [before, value].flat()
  }
  return headers
}

function isShared(name: FieldName): boolean {
  return SHARED.includes(name)
}
