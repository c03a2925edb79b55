// What zod finds in a body or a query, in our words.

import { type ErrorCode, SluiceError } from "sluice"
import { z } from "zod"

/** The body, if it is what the schema wants. */
export function checkBody<T>(schema: z.ZodType<T>, value: unknown): T {
  return checked(schema, value, "body", ["BODY_UNKNOWN_FIELD", "BODY_FIELD_INVALID"])
}

/** The parameters behind the `?`. Each may be there once. */
export function checkQuery<T>(schema: z.ZodType<T> | undefined, query: string): T {
  const given: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in given)
      throw new SluiceError("QUERY_INVALID", { place: `query.${name}`, expected: "is there twice" })
    given[name] = value
  }
  return checked(schema ?? (NOTHING as unknown as z.ZodType<T>), { ...given }, "query", [
    "QUERY_INVALID",
    "QUERY_INVALID",
  ])
}

const NOTHING = z.strictObject({})

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
    throw new SluiceError(unknownField, { place, expected: `must not have ${name}, which does not exist` })
  }
  throw new SluiceError(invalid, { place, expected: `is not right: ${issue?.message ?? "invalid"}` })
}
