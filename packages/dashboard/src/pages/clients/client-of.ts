/** The client that a key counts, as overrides and lists name it. Undefined when it counts something else, or everybody. */
export function clientOf(key: string): string | undefined {
  return key.split(",").find((part) => /^(?:ip|user|apiKey):./.test(part))
}
