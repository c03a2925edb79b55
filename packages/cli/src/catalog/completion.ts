import { command, type Invocation, spec } from "../command.js"

const completion = spec({
  name: "completion",
  summary: "Print a script that completes commands, options and values in your shell",
  arguments: [{ name: "shell", description: "Which one.", choices: ["bash", "zsh", "fish"] }],
  examples: [
    { run: "source <(sluice completion bash)", does: "bash, now; put it into ~/.bashrc to keep it" },
    { run: 'sluice completion zsh > "$fpath[1]/_sluice"', does: "zsh, from its next start on" },
    { run: "sluice completion fish > ~/.config/fish/completions/sluice.fish", does: "fish" },
  ],
})

export type CompletionInvocation = Invocation<typeof completion>

export const completionCommand = command(completion, async (invocation) =>
  (await import("../commands/completion.js")).printCompletion(invocation),
)
