// Which settings hold secrets. Whatever prints a setting asks here first: configuration errors, --print-config, and the
// command line that an error repeats.

import { redactUrl } from "sluice/redis"

const NAMES: readonly string[] = ["secret", "password", "token", "tokens", "hash"]

/** Whether a setting, or one that it is part of, is never shown, also when it is wrong. */
export function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((part) => NAMES.includes(String(part)))
}

/** Text as it may be shown: an address without its user and password. */
export function withoutLogin(text: string): string {
  return /^[a-z+]*:\/\/.*@/is.test(text) ? redactUrl(text) : text
}
