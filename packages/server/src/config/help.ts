import { fields } from "./fields.js"

/** What `--help` says: every setting with its default, from the schema. */
export function helpText(): string {
  const lines = fields().map(({ flag, kind, description = "", byDefault }) => {
    const shown = byDefault === undefined ? "" : ` [${JSON.stringify(byDefault)}]`
    return `  ${`${flag} <${kind}>`.padEnd(34)} ${description}${shown}`.trimEnd()
  })
  return `Sluice: a rate limiter to ask over HTTP, gRPC and the Redis protocol.

  --config <file>                    Default: sluice.config.yaml, if it is there.
  --print-config                     Shows the configuration in force, secrets hidden, and ends.
  --help, --version

Each setting is a flag, a variable (--http.port is SLUICE_HTTP__PORT; with _FILE behind it, the name of a file that
holds the value) or a line of the file, in this order of weight:

${lines.join("\n")}
`
}
