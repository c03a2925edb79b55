import type { Command } from "../command.js"
import { checkCommand, explainCommand } from "./check.js"
import { completionCommand } from "./completion.js"
import { doctorCommand } from "./doctor.js"
import { gatewayCommand } from "./gateway.js"
import { keysCommands } from "./keys.js"
import { recommendCommand, replayCommand } from "./replay.js"
import { rulesCommands } from "./rules.js"
import { schemaCommand } from "./schema.js"
import { serveCommand } from "./serve.js"
import { topCommand } from "./top.js"

/** Every command, in the order in which help and docs/cli.md show them. */
export const catalog: readonly Command[] = [
  serveCommand,
  gatewayCommand,
  checkCommand,
  explainCommand,
  ...rulesCommands,
  ...keysCommands,
  topCommand,
  replayCommand,
  recommendCommand,
  schemaCommand,
  doctorCommand,
  completionCommand,
]
