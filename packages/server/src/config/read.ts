import { resolve } from "node:path"
import { pathText } from "sluice/internal/rules"
import { type Environment, readEnvironment } from "./environment.js"
import { readConfigFile } from "./file.js"
import { type Flags, readFlags } from "./flags.js"
import { gatewayProblems } from "./gateway-problems.js"
import { ConfigError, problemsOf } from "./problems.js"
import { type Config, configSchema } from "./schema.js"
import type { ConfigProblem, Setting } from "./setting.js"

export const CONFIG_FILE = "sluice.config.yaml"

const PROTOCOLS = ["http", "grpc", "resp", "control", "gateway"] as const
type Protocol = (typeof PROTOCOLS)[number]
/** Hosts that mean every address of the machine. */
const EVERYWHERE: readonly string[] = ["0.0.0.0", "::"]

export interface ConfigSources {
  /** The command line without the name of the program. */
  readonly argv?: readonly string[]
  readonly env?: Environment
  /** The folder of the configuration file. Default: the working directory. */
  readonly folder?: string
}

export interface ReadConfig {
  readonly config: Config
  readonly flags: Flags
}

/**
 * Reads the configuration. Flags override environment variables, which override `sluice.config.yaml`, which overrides defaults.
 * Throws a ConfigError with the mistakes of all of them.
 */
export function readConfig({ argv = [], env = {}, folder = process.cwd() }: ConfigSources = {}): ReadConfig {
  const flags = readFlags(argv)
  const environment = readEnvironment(env)
  const named = flags.file ?? (env.SLUICE_CONFIG || undefined)
  const file = readConfigFile(resolve(folder, named ?? CONFIG_FILE), named !== undefined)
  const problems: ConfigProblem[] = [...(file?.problems ?? []), ...environment.problems, ...flags.problems]
  const places = new Map<string, string>()
  const value = file?.value ?? {}
  if (flags.command === "gateway") preferGateway(value)
  for (const setting of [...environment.settings, ...flags.settings]) {
    put(value, setting)
    places.set(pathText(setting.path), setting.place)
  }
  const placeOf = (path: readonly PropertyKey[]) => {
    for (let length = path.length; length > 0; length--) {
      const place = places.get(pathText(path.slice(0, length)))
      if (place !== undefined) return place
    }
    return file === undefined ? "" : file.placeOf(path)
  }
  // Parsed once: compiling the schema to JavaScript first takes three times as long.
  const parsed = configSchema.safeParse(value, { jitless: true })
  if (!parsed.success) problems.push(...problemsOf(value, parsed.error.issues, placeOf))
  // A missing setting is not reported if an unknown one may be its misspelling.
  else if (problems.length === 0) problems.push(...conflictsIn(parsed.data, placeOf))
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems)
  return { config: parsed.data, flags }
}

/** Enables the gateway, and disables every protocol that the settings do not enable explicitly. */
function preferGateway(value: Record<string, unknown>): void {
  for (const name of ["http", "grpc"]) {
    const section = value[name]
    if (section === undefined) value[name] = { enabled: false }
    else if (isMap(section)) section.enabled ??= false
  }
  put(value, { path: ["gateway", "enabled"], value: true, place: "gateway" })
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function put(value: Record<string, unknown>, { path, value: set }: Setting): void {
  let holder = value
  for (const part of path.slice(0, -1)) {
    // A value that is not a map is a mistake in the file. This setting replaces it.
    if (!isMap(holder[part])) holder[part] = {}
    holder = holder[part] as Record<string, unknown>
  }
  holder[path.at(-1) as string] = set
}

/** Finds settings that exclude each other. */
function conflictsIn(config: Config, placeOf: (path: readonly PropertyKey[]) => string): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const wrong = (path: readonly string[], message: string) =>
    problems.push({ place: placeOf(path), path: pathText(path), message })
  const { store, rules } = config
  if (store.url === "memory" && rules.redis.enabled && rules.redis.url === undefined)
    wrong(["rules", "redis", "url"], "is required when the store is not in Redis")
  for (const [path, message] of uselessStoreSettings(config)) wrong(path, message)
  for (const what of ["Window", "Limit"] as const) {
    const min = rules.guardRails[`min${what}`]
    const max = rules.guardRails[`max${what}`]
    if (min !== undefined && max !== undefined && min > max)
      wrong(["rules", "guardRails", `min${what}`], `must not be above rules.guardRails.max${what}`)
  }
  for (const [one, other] of samePorts(config))
    wrong([other, "port"], `is ${config[other].port}, the same as ${one}.port: choose another port`)
  if (rules.file !== undefined && rules.inline !== undefined)
    wrong(["rules", "inline"], "cannot be combined with rules.file")
  for (const { path, message } of gatewayProblems(config.gateway))
    problems.push({ place: placeOf(path), path: pathText(path), message })
  return problems
}

const MEMORY_ONLY: readonly string[] = ["maxKeys", "onFull", "snapshot"]
/** The clients of a store and of rules in Redis use these. */
const OF_CLIENTS: readonly string[] = ["connectTimeout", "socketTimeout", "maxReconnectDelay"]

/** Finds settings that the configured store does not use. */
function* uselessStoreSettings({ store, rules }: Config): Generator<[path: string[], message: string]> {
  const isMemory = store.url === "memory"
  const { url: _, breaker, ...others } = store
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue
    const isForMemory = MEMORY_ONLY.includes(name)
    if (isForMemory && !isMemory)
      yield [["store", name], "is only for the memory store, but store.url names another store"]
    else if (!isForMemory && isMemory && !(rules.redis.enabled && OF_CLIENTS.includes(name)))
      yield [["store", name], NOT_IN_REDIS]
  }
  for (const [name, value] of Object.entries(breaker))
    if (value !== undefined && isMemory) yield [["store", "breaker", name], NOT_IN_REDIS]
}

const NOT_IN_REDIS = "is only for a store in Redis, but store.url is memory"

/** Finds protocols with the same port on the same address. */
function samePorts(config: Config): [Protocol, Protocol][] {
  const enabled = PROTOCOLS.filter((name) => config[name].enabled && config[name].port !== 0)
  return enabled.flatMap((other, i) => {
    const one = enabled.slice(0, i).find((name) => {
      const [a, b] = [config[name], config[other]]
      return (
        a.port === b.port && (a.host === b.host || [a.host, b.host].some((host) => EVERYWHERE.includes(host)))
      )
    })
    return one === undefined ? [] : [[one, other] as [Protocol, Protocol]]
  })
}
