import { didYouMean } from "./did-you-mean.js"
import { fields, parseValue } from "./fields.js"
import { type ConfigProblem, pathText, type Setting } from "./setting.js"

/** What a command line asks for besides settings. */
export interface Flags {
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
  /** `--config` */
  readonly file: string | undefined
  readonly printConfig: boolean
  readonly help: boolean
  readonly version: boolean
}

const SWITCHES = ["--print-config", "--help", "--version"] as const

/** Reads `--http.port 8080`, `--http.port=8080`, `--resp.enabled` and `--no-grpc.enabled`. */
export function readFlags(argv: readonly string[]): Flags {
  const settings: Setting[] = []
  const problems: ConfigProblem[] = []
  const switches = new Set<string>()
  let file: string | undefined
  const known = new Map(
    fields().flatMap((field) => [[field.flag, field] as const, [`--${pathText(field.path)}`, field]]),
  )
  const names = [...fields().map(({ flag }) => flag), "--config", ...SWITCHES]
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string
    const equals = argument.indexOf("=")
    const flag = equals < 0 ? argument : argument.slice(0, equals)
    let value = equals < 0 ? undefined : argument.slice(equals + 1)
    const wrong = (message: string) => problems.push({ place: flag, path: "", message })
    if (value === undefined && (SWITCHES as readonly string[]).includes(flag)) {
      switches.add(flag)
      continue
    }
    const off = known.get(flag.replace(/^--no-/, "--"))
    if (value === undefined && flag.startsWith("--no-") && off?.kind === "boolean") {
      settings.push({ path: off.path, value: false, place: flag })
      continue
    }
    const field = known.get(flag)
    if (field === undefined && flag !== "--config") {
      wrong(
        flag.startsWith("-")
          ? didYouMean(flag, names)
          : "is not expected: settings are flags, such as --http.port 8080",
      )
      continue
    }
    if (value === undefined) {
      const next = argv[i + 1]
      if (field?.kind === "boolean" && next !== "true" && next !== "false") value = "true"
      else if (next === undefined || next.startsWith("--")) {
        wrong("needs a value")
        continue
      } else {
        value = next
        i++
      }
    }
    if (field === undefined) file = value
    else settings.push({ path: field.path, value: parseValue(value, field.kind), place: flag })
  }
  return {
    settings,
    problems,
    file,
    printConfig: switches.has("--print-config"),
    help: switches.has("--help"),
    version: switches.has("--version"),
  }
}
