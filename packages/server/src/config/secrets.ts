// Knows which settings hold secrets. Code that prints settings asks here first: configuration errors, --print-config, and the
// command line that an error message repeats.

import { redactUrl } from "sluice/redis"

const NAMES: readonly string[] = ["secret", "password", "token", "tokens", "hash"]

/** Whether a setting, or a map that contains it, must never be shown. */
export function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((part) => NAMES.includes(String(part)))
}

/** Removes the user and password from an address, so that it can be shown. */
export function withoutLogin(text: string): string {
  return /^[a-z+]*:\/\/.*@/is.test(text) ? redactUrl(text) : text
}
