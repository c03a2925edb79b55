import { fields } from "./fields.js"

/** One line per setting with its default, from the schema. */
export function settingLines(): string[] {
  return fields().map(({ flag, kind, description = "", byDefault }) => {
    const shown = byDefault === undefined ? "" : ` [${JSON.stringify(byDefault)}]`
    return `  ${`${flag} <${kind}>`.padEnd(34)} ${description}${shown}`.trimEnd()
  })
}

/** The text of `--help`. */
export function helpText(): string {
  return `Sluice: a rate limiter to ask over HTTP, gRPC and the Redis protocol.

  --config <file>                    Default: sluice.config.yaml, if it is there.
  --print-config                     Shows the configuration in force, secrets hidden, and ends.
  --help, --version

In front of them, gateway starts a reverse proxy and nothing else: gateway --upstream http://localhost:3000 --rules rules.yaml.
--upstream is short for --gateway.upstream, --rules for --rules.file.

Each setting is a flag, a variable (--http.port is SLUICE_HTTP__PORT; with _FILE behind it, the name of a file that
holds the value) or a line of the file, in this order of weight:

${settingLines().join("\n")}
`
}
