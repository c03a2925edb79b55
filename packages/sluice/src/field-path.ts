/** The most fields that one cost may read, and the most names in the path of a field. */
export const MAX_FIELDS = 16
const MAX_NAMES = 8
const MAX_LENGTH = 200

/** What is wrong with the path of a field in JSON, such as `usage.total_tokens`. Undefined if it is valid. */
export function problemOfFieldPath(path: string): string | undefined {
  const names = path.split(".")
  if (path.length > MAX_LENGTH || names.some((name) => !/^[^\s[\]"*$]+$/.test(name)))
    return "must be names of fields joined by dots, such as usage.total_tokens"
  return names.length > MAX_NAMES ? `must have at most ${MAX_NAMES} names` : undefined
}
