const UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}

/** `grpc-timeout` in milliseconds, `20m` is 20 of them. Undefined when it is not there or not one. */
export function timeoutOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? []
  return unit === undefined ? undefined : Number(digits) * (UNITS_MS[unit] as number)
}
