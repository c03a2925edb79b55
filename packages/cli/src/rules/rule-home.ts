// Where rules live, to a command that reads or changes them: in a file, or in a running service.

import type { RevisionInfo, RuleSetDocument } from "sluice/rules"
import type { placeOptions } from "../catalog/options.js"
import type { Invocation } from "../command.js"
import { controlPlane } from "../service.js"
import { UsageError } from "../usage-error.js"

/** A rule set as it was read, to say later what a change was made on. */
export interface Held {
  readonly document: RuleSetDocument
  /** As people wrote it: with comments, if there are any. */
  readonly text: string
  /** Of a service: names exactly these rules. */
  readonly etag?: string
  readonly revision?: number
}

export interface Saved {
  readonly revision: number
  readonly document: RuleSetDocument
}

export interface RuleHome {
  /** The path or the address. */
  readonly name: string
  read(): Promise<Held>
  /** Refused when the rules are no longer those that were read. */
  replace(held: Held, next: RuleSetDocument, comment: string | undefined): Promise<Saved>
  /** The newest first. */
  history(): Promise<readonly RevisionInfo[]>
  revision(number: number): Promise<RuleSetDocument>
  /** Refused in the same way. */
  rollback(held: Held, to: number, comment: string | undefined): Promise<Saved>
}

interface Placed {
  readonly options: { readonly [Name in keyof typeof placeOptions]: string | undefined }
  readonly env: Invocation["env"]
}

/** Loads only what it needs: the rule language takes longer to load than a service to ask. */
export async function ruleHome({ options, env }: Placed): Promise<RuleHome> {
  const { file, url } = options
  if (file !== undefined && url !== undefined) throw new UsageError("--file", "cannot be given beside --url")
  if (file !== undefined) {
    const { FileHome } = await import("./file-home.js")
    return new FileHome(file)
  }
  const { ServiceHome } = await import("./service-home.js")
  return new ServiceHome(controlPlane(options, env))
}
