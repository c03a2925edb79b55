import { type RecommendedAlgorithm, recommend } from "@sluice/server/replay"
import type { RecommendInvocation } from "../catalog/replay.js"
import type { ExitCode } from "../command.js"
import { recommendText } from "./recommend/recommend-text.js"
import { LogInput, logOptionsOf } from "./replay/log-input.js"
import { Progress } from "./replay/progress.js"
import { save } from "./replay.js"

export async function recommendLimit({ args, options, terminal }: RecommendInvocation): Promise<ExitCode> {
  const { key, path, method, output } = options
  const input = new LogInput(args.logs, terminal)
  const progress = new Progress(terminal, input, await input.size())
  const match = {
    ...(path.length > 0 ? { path: [...path] } : {}),
    ...(method.length > 0 ? { method: [...method] } : {}),
  }
  const found = await recommend(input.chunks(), {
    ...logOptionsOf(options),
    keyBy: key.length > 1 ? [...key] : (key[0] ?? "ip"),
    window: options.window,
    share: options.share,
    algorithm: options.algorithm as RecommendedAlgorithm,
    id: options.id,
    match: Object.keys(match).length > 0 ? match : undefined,
    onProgress: ({ lines }) => progress.update(lines),
  }).finally(() => progress.end())
  if (output !== undefined) await save(output, found.yaml)
  if (options.json) terminal.json(found)
  else terminal.print(recommendText(found, terminal.style, terminal.width))
  if (output !== undefined) terminal.note(`wrote ${output}`)
  return 0
}
