// A Dockerfile as a list of stages, as far as ours uses the language. It refuses instructions that it does not know.

export interface Instruction {
  readonly name: string
  readonly rest: string
}

export interface Stage {
  readonly name: string | undefined
  readonly from: string
  readonly instructions: readonly Instruction[]
}

export interface Copy {
  /** The stage it copies from; undefined is the folder that the image is built from. */
  readonly from: string | undefined
  readonly sources: readonly string[]
  readonly target: string
}

const KNOWN = new Set(
  ["ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE"].concat("HEALTHCHECK", "ENTRYPOINT"),
)

export function readDockerfile(text: string): Stage[] {
  const stages: { name: string | undefined; from: string; instructions: Instruction[] }[] = []
  const args = new Map<string, string>()
  const lines = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "")
  for (const line of lines.split("\n").filter((line) => line.trim() !== "")) {
    const [, name = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (!KNOWN.has(name)) throw new Error(`not a known instruction: ${line}`)
    if (name === "ARG") {
      const [arg, value] = rest.split("=") as [string, string]
      args.set(arg, value)
    } else if (name === "FROM") {
      const [, image = "", stage] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest) ?? []
      const from = image.replaceAll(/\$\{(\w+)\}/g, (_, arg: string) => args.get(arg) ?? "")
      stages.push({ name: stage, from, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (stage === undefined) throw new Error(`before the first FROM: ${line}`)
      stage.instructions.push({ name, rest })
    }
  }
  return stages
}

export function readCopy(rest: string): Copy {
  const [, from, paths = ""] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(rest) ?? []
  const names = paths.split(/\s+/)
  return { from, sources: names.slice(0, -1), target: names.at(-1) as string }
}

/** `["node", "main.js"]` of an ENTRYPOINT, or of the CMD in a HEALTHCHECK. */
export function readCommand(rest: string): string[] {
  return JSON.parse(rest.slice(rest.indexOf("[")))
}

export function readVariables(rest: string): Record<string, string> {
  return Object.fromEntries(rest.split(/\s+/).map((pair) => pair.split("=") as [string, string]))
}

/** Whether a file reaches the build: the last line of the .dockerignore that meets it, or a folder above it, decides. */
export function isSent(ignore: string, path: string): boolean {
  const above = path.split("/").map((_, i, parts) => parts.slice(0, i + 1).join("/"))
  let sent = true
  for (const line of ignore.split("\n").map((text) => text.trim())) {
    if (line === "" || line.startsWith("#")) continue
    const pattern = line.replace(/^!/, "")
    const form = pattern
      .replaceAll(".", "\\.")
      .replaceAll(/\*\*\/|\*/g, (stars) => (stars === "*" ? "[^/]*" : "(?:.*/)?"))
    if (above.some((name) => new RegExp(`^${form}$`).test(name))) sent = line.startsWith("!")
  }
  return sent
}
