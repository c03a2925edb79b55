import { nearest } from "sluice/internal"
import { pathText } from "sluice/internal/rules"
import { fields, parseValue } from "./fields.js"
import { type ConfigProblem, type Setting, withGuess } from "./setting.js"

/** What to run: the service, or a gateway alone unless other protocols are enabled. */
export type Command = "service" | "gateway"

/** What the command line contains besides settings. */
export interface Flags {
  readonly command: Command
  readonly settings: readonly Setting[]
  readonly problems: readonly ConfigProblem[]
  /** `--config` */
  readonly file: string | undefined
  readonly printConfig: boolean
  readonly help: boolean
  readonly version: boolean
}

const SWITCHES = ["--print-config", "--help", "--version"] as const

/** Short names for frequent flags. */
export const SHORT_FLAGS: Readonly<Record<string, string>> = {
  "--upstream": "--gateway.upstream",
  "--rules": "--rules.file",
}

/**
 * Reads `--http.port 8080`, `--http.port=8080`, `--resp.enabled` and `--no-grpc.enabled`, after an optional word `gateway`. A
 * repeated list flag adds to one list.
 */
export function readFlags(words: readonly string[]): Flags {
  const command: Command = words[0] === "gateway" ? "gateway" : "service"
  const argv = command === "gateway" ? words.slice(1) : words
  const settings: Setting[] = []
  const problems: ConfigProblem[] = []
  const switches = new Set<string>()
  let file: string | undefined
  const known = new Map(
    fields().flatMap((field) => [[field.flag, field] as const, [`--${pathText(field.path)}`, field]]),
  )
  for (const [short, flag] of Object.entries(SHORT_FLAGS)) {
    const field = known.get(flag)
    if (field !== undefined) known.set(short, field)
  }
  const names = [...fields().map(({ flag }) => flag), ...Object.keys(SHORT_FLAGS), "--config", ...SWITCHES]
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
          ? unknownFlag(flag, names)
          : "is not a flag: write settings as --http.port 8080, and after npm start as npm start -- --http.port 8080",
      )
      // The value of an unknown flag is not a second mistake, and it may be a secret.
      if (flag.startsWith("-") && value === undefined && isValue(argv[i + 1])) i++
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
    else add(settings, { path: field.path, value: parseValue(value, field.kind), place: flag })
  }
  return {
    command,
    settings,
    problems,
    file,
    printConfig: switches.has("--print-config"),
    help: switches.has("--help"),
    version: switches.has("--version"),
  }
}

function isValue(word: string | undefined): boolean {
  return word !== undefined && !word.startsWith("-")
}

function add(settings: Setting[], setting: Setting): void {
  const at = settings.findIndex(({ path }) => pathText(path) === pathText(setting.path))
  const before = settings[at]?.value
  if (!Array.isArray(before) || !Array.isArray(setting.value)) settings.push(setting)
  else settings[at] = { ...setting, value: [...before, ...setting.value] }
}

/** The message for an unknown flag. People also shorten a flag to its last part or leave out the dots: `--port`, `--rulesFile`. */
function unknownFlag(flag: string, known: readonly string[]): string {
  const plain = letters(flag)
  const guess =
    nearest(flag, known) ??
    known.find((name) => letters(name) === plain) ??
    known.find((name) => letters(name.slice(name.lastIndexOf(".") + 1)) === plain) ??
    known.find((name) => plain.length > 3 && letters(name).startsWith(plain))
  return withGuess(guess)
}

function letters(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "")
}
