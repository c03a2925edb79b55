// The application's own headers beside the rate limit headers, and its own names for these.

import { Mistakes, SluiceError } from "../../errors.js"
import { checkObject, checkType, isFunction } from "../../options.js"

/** Other names for rate limit headers, such as `{ "x-ratelimit-limit": "x-acme-limit" }`. `false` leaves a header out. */
export type HeaderNames = Readonly<Record<string, string | false>>

/** The value of a header, or undefined for none. */
export type HeaderValue = string | number | undefined

/** Headers by name, each with a constant value or a function of the request and its decision. */
export type ExtraHeaders<Request, Made> = Readonly<
  Record<string, string | number | ((request: Request, decision: Made) => HeaderValue)>
>

export interface CustomHeaderOptions<Request, Made> {
  readonly headerNames?: HeaderNames | undefined
  readonly extraHeaders?: ExtraHeaders<Request, Made> | undefined
}

const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** Printable ASCII and tabs. Other characters would end the header, or reach clients in an encoding that nobody announced. */
const VALUE = /^[\t\x20-\x7e]*$/

/** Throws for every invalid name and every constant value that no header can have. */
export function checkCustomHeaders(options: CustomHeaderOptions<never, never>): void {
  const mistakes = new Mistakes()
  for (const [name, to] of entriesOf(options.headerNames, "headerNames", mistakes)) {
    const place = `rateLimit.headerNames[${JSON.stringify(name)}]`
    mistakes.try(() =>
      checkType(to, place, "the name of a header, or false", (given) => given === false || isName(given)),
    )
  }
  for (const [name, value] of entriesOf(options.extraHeaders, "extraHeaders", mistakes)) {
    const place = `rateLimit.extraHeaders[${JSON.stringify(name)}]`
    mistakes.try(() => checkType(name, place, "the name of a header", isName))
    if (!isFunction(value)) mistakes.try(() => textOf(value, place))
  }
  mistakes.throwAll()
}

/** Renames rate limit headers and adds those of the application. Names are in lower case, as HTTP/2 requires. */
export class CustomHeaders<Request, Made> {
  readonly #names: ReadonlyMap<string, string | false>
  readonly #extra: readonly (readonly [name: string, value: ExtraHeaders<Request, Made>[string]])[]

  constructor({ headerNames = {}, extraHeaders = {} }: CustomHeaderOptions<Request, Made>) {
    this.#names = new Map(
      Object.entries(headerNames).map(([from, to]) => [
        from.toLowerCase(),
        to === false ? to : to.toLowerCase(),
      ]),
    )
    this.#extra = Object.entries(extraHeaders).map(([name, value]) => [name.toLowerCase(), value])
  }

  /** Returns a new flat list: name, value, name, value. A header of the application replaces one with the same name. */
  apply(list: readonly string[], request: Request, decision: Made): string[] {
    const headers = new Map<string, string>()
    for (let i = 0; i < list.length; i += 2) {
      const name = this.#names.get(list[i] as string) ?? (list[i] as string)
      if (name !== false) headers.set(name, list[i + 1] as string)
    }
    for (const [name, given] of this.#extra) {
      const value = typeof given === "function" ? given(request, decision) : given
      if (value === undefined) headers.delete(name)
      else headers.set(name, textOf(value, `rateLimit.extraHeaders[${JSON.stringify(name)}]`))
    }
    return [...headers].flat()
  }
}

function entriesOf(given: object | undefined, option: string, mistakes: Mistakes): [string, unknown][] {
  if (given === undefined) return []
  return (
    mistakes.try(() => {
      checkObject(given, `rateLimit.${option}`)
      return Object.entries(given)
    }) ?? []
  )
}

function isName(value: unknown): boolean {
  return typeof value === "string" && NAME.test(value)
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string" && VALUE.test(value)) return value
  if (typeof value === "number" && Number.isFinite(value)) return String(value)
  throw new SluiceError("OPTION_TYPE", {
    place,
    expected: "must be printable ASCII or a finite number",
    found: value,
  })
}
