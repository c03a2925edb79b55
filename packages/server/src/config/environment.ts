import { readFileSync } from "node:fs"
import { nearest } from "sluice/internal"
import { fields, parseValue } from "./fields.js"
import { isSecret } from "./print.js"
import { type ConfigProblem, type Setting, unknownName } from "./setting.js"

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads variables such as `SLUICE_HTTP__PORT`. If the name ends with `_FILE`, the variable names a file that holds the value, as
 * container platforms provide secrets. An empty variable counts as unset.
 */
export function readEnvironment(env: Environment): { settings: Setting[]; problems: ConfigProblem[] } {
  const settings: Setting[] = []
  const problems: ConfigProblem[] = []
  const known = new Map(fields().map((field) => [field.variable, field]))
  const names = [...known.keys(), "SLUICE_CONFIG"]
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith("SLUICE_") || text === undefined || text === "" || name === "SLUICE_CONFIG") continue
    const wrong = (message: string) => problems.push({ place: name, path: "", message })
    const fromFile =
      !known.has(name) && name.endsWith("_FILE") ? known.get(name.slice(0, -"_FILE".length)) : undefined
    const field = known.get(name) ?? fromFile
    if (field === undefined) {
      if (isMeantForUs(name, names)) wrong(unknownName(name, names))
      continue
    }
    if (fromFile !== undefined && (env[field.variable] ?? "") !== "") {
      wrong(`cannot be combined with ${field.variable}`)
      continue
    }
    try {
      // The line break at the end of the file is not part of the secret.
      const value = fromFile === undefined ? text : readFileSync(text, "utf8").replace(/\r?\n$/, "")
      settings.push({ path: field.path, value: parseValue(value, field.kind), place: name })
    } catch (error) {
      // The value is not shown: it may be the secret itself instead of a file name.
      const { code, message } = error as NodeJS.ErrnoException
      wrong(`names a file that cannot be read: ${isSecret(field.path) ? code : message}`)
    }
  }
  return { settings, problems }
}

/**
 * Whether an unknown variable is a mistake. Kubernetes sets SLUICE_PORT and SLUICE_SERVICE_HOST for a service named sluice, so
 * only names with two underscores, or one letter away from a setting, count.
 */
function isMeantForUs(name: string, names: readonly string[]): boolean {
  return name.includes("__") || nearest(name, names) !== undefined
}
