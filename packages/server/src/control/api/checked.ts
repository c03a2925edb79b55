// Checks bodies and queries with zod, and turns its issues into SluiceErrors.

import { type ErrorCode, SluiceError } from "sluice"
import { z } from "zod"

/** Returns the body. Throws if it does not fit the schema. */
export function checkBody<T>(schema: z.ZodType<T>, value: unknown): T {
  return checked(schema, value, "body", ["BODY_UNKNOWN_FIELD", "BODY_FIELD_INVALID"])
}

/** Returns the query parameters. Throws if they do not fit the schema, or if one is given twice. */
export function checkQuery<T>(schema: z.ZodType<T> | undefined, query: string): T {
  const given: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in given)
      throw new SluiceError("QUERY_INVALID", { place: `query.${name}`, expected: "must not be given twice" })
    given[name] = value
  }
  return checked(schema ?? (NO_PARAMETERS as unknown as z.ZodType<T>), { ...given }, "query", [
    "QUERY_INVALID",
    "QUERY_INVALID",
  ])
}

const NO_PARAMETERS = z.strictObject({})

function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  root: string,
  [unknownField, invalid]: readonly [ErrorCode, ErrorCode],
): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const place = issue?.path.length ? `${root}.${issue.path.map(String).join(".")}`.slice(0, 200) : root
  if (issue?.code === "unrecognized_keys") {
    const name = JSON.stringify(issue.keys[0]?.slice(0, 60))
    throw new SluiceError(unknownField, { place, expected: `does not allow ${name}` })
  }
  throw new SluiceError(invalid, { place, expected: `is invalid: ${issue?.message ?? "invalid"}` })
}
