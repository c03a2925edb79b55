// Query parameters. There are few, and one that does not exist is a mistake.

import { SluiceError } from "sluice"

/** A status from the query, `?status=429`: what a denial is answered with. */
export function statusParameter(query: string, name: string): number | undefined {
  if (query === "") return undefined
  let status: number | undefined
  for (const [given, value] of new URLSearchParams(query)) {
    if (given !== name) throw unknownParameter(given, `there is only ${name}`)
    if (!/^[45]\d\d$/.test(value)) {
      throw new SluiceError("QUERY_INVALID", {
        place: `query.${name}`,
        expected: "must be a status from 400 to 599",
        found: value,
      })
    }
    status = Number(value)
  }
  return status
}

export function noParameters(query: string): void {
  const [given] = query === "" ? [] : new URLSearchParams(query).keys()
  if (given !== undefined) throw unknownParameter(given, "this path takes none")
}

function unknownParameter(found: string, known: string): SluiceError {
  return new SluiceError("QUERY_INVALID", {
    place: "query",
    expected: `has a parameter that does not exist; ${known}`,
    found,
  })
}
