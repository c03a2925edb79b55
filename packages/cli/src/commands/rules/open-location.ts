import type { locationOptions } from "../../catalog/options.js"
import { type Invocation, UsageError } from "../../command.js"
import { controlPlane } from "../../service-client.js"
import type { RulesLocation } from "./rules-location.js"

interface LocationOptions {
  readonly options: { readonly [Name in keyof typeof locationOptions]: string | undefined }
  readonly env: Invocation["env"]
}

/** The location that the options name. Imports only the code that it needs: the rule language takes long to load. */
export async function openLocation({ options, env }: LocationOptions): Promise<RulesLocation> {
  const { file, url } = options
  if (file !== undefined && url !== undefined) throw new UsageError("--file", "cannot be combined with --url")
  if (file !== undefined) {
    const { FileRules } = await import("./file-rules.js")
    return new FileRules(file)
  }
  const { ServiceRules } = await import("./service-rules.js")
  return new ServiceRules(controlPlane(options, env))
}
