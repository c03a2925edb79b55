import { readFileSync } from "node:fs"
import { nearest } from "sluice/internal"
import { didYouMean } from "./did-you-mean.js"
import { fields, parseValue } from "./fields.js"
import { isSecret } from "./secrets.js"
import type { ConfigProblem, Setting } from "./setting.js"

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads `SLUICE_HTTP__PORT` and its like. With `_FILE` behind the name the value is in a file, as container platforms hand
 * out secrets. An empty variable is as none.
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
      if (isMeantForUs(name, names)) wrong(didYouMean(name, names))
      continue
    }
    if (fromFile !== undefined && (env[field.variable] ?? "") !== "") {
      wrong(`cannot be given beside ${field.variable}`)
      continue
    }
    try {
      // A file usually ends in a line break that is no part of the secret.
      const value = fromFile === undefined ? text : readFileSync(text, "utf8").replace(/\r?\n$/, "")
      settings.push({ path: field.path, value: parseValue(value, field.kind), place: name })
    } catch (error) {
      // Somebody may have put the secret itself where the name of its file goes.
      const { code, message } = error as NodeJS.ErrnoException
      wrong(`names a file that cannot be read: ${isSecret(field.path) ? code : message}`)
    }
  }
  return { settings, problems }
}

/**
 * Not everything that starts with SLUICE_ is ours: Kubernetes sets SLUICE_PORT and SLUICE_SERVICE_HOST for a service of that
 * name. A name with two underscores, or one letter away from a setting, is.
 */
function isMeantForUs(name: string, names: readonly string[]): boolean {
  return name.includes("__") || nearest(name, names) !== undefined
}
