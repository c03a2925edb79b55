import { fields } from "@sluice/server/config"
import type { CompletionInvocation } from "../catalog/setup.js"
import type { ExitCode } from "../command.js"
import { bashCompletion } from "../completion/bash.js"
import { type CompletedFlag, completedCommands } from "../completion/commands.js"
import { fishCompletion } from "../completion/fish.js"
import { zshCompletion } from "../completion/zsh.js"

const SHELLS: Readonly<Record<string, typeof bashCompletion>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
}

export async function printCompletion({ args, terminal, catalog }: CompletionInvocation): Promise<ExitCode> {
  const script = SHELLS[args.shell]?.(completedCommands(catalog, settingFlags())) ?? ""
  terminal.print(script.trimEnd())
  return 0
}

/** The flags that `serve` and `gateway` pass to the service. */
function settingFlags(): CompletedFlag[] {
  const config = {
    long: "--config",
    short: undefined,
    description: "The configuration file",
    values: "files" as const,
  }
  return [
    config,
    ...fields().map(({ flag, description = "", kind }) => ({
      long: flag,
      short: undefined,
      description,
      values: kind === "boolean" ? ["true", "false"] : ("files" as const),
    })),
  ]
}
