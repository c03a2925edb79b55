import { language } from "../../i18n.js"

const UNITS = [
  { ms: 86_400_000, en: "d", zh: "天" },
  { ms: 3_600_000, en: "h", zh: "小时" },
  { ms: 60_000, en: "min", zh: "分" },
  { ms: 1_000, en: "s", zh: "秒" },
] as const

/** A wait in at most two units, rounded up so that waiting that long is enough: `14 min 3 s`, `250 ms`. */
export function waitText(ms: number): string {
  const unitName = (unit: { readonly en: string; readonly zh: string }) => unit[language.value]
  if (ms < 1_000) return `${Math.ceil(ms)} ${unitName({ en: "ms", zh: "毫秒" })}`
  const first = UNITS.findIndex((unit) => ms >= unit.ms)
  const [large, small] = [UNITS[first], UNITS[first + 1]]
  if (large === undefined) return `${ms} ms`
  const step = small ?? large
  const rounded = Math.ceil(ms / step.ms) * step.ms
  // 59 min 59.5 s is an hour.
  if (rounded > ms && first > 0 && rounded >= (UNITS[first - 1] as { ms: number }).ms)
    return waitText(rounded)
  const rest = small === undefined ? 0 : (rounded % large.ms) / small.ms
  const whole = `${Math.floor(rounded / large.ms)} ${unitName(large)}`
  return rest === 0 || small === undefined ? whole : `${whole} ${rest} ${unitName(small)}`
}
