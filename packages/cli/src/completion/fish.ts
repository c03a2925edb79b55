import {
  type CompletedCommand,
  type CompletedFlag,
  firstWords,
  groupsIn,
  lastWord,
  type Values,
} from "./commands.js"

export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const groups = groupsIn(commands)
  return `# Completes sluice in fish. To load it: sluice completion fish > ~/.config/fish/completions/sluice.fish

# Whether the words after sluice are exactly these.
function __sluice_ends
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

# Whether the words after sluice begin with these.
function __sluice_begins
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

complete -c sluice -f
${firstWords(commands)
  .map(({ word, summary }) => `complete -c sluice -n __sluice_ends -a ${word} -d ${quoted(summary)}`)
  .join("\n")}
${groups
  .flatMap(({ name, members }) =>
    members.map(
      (member) =>
        `complete -c sluice -n ${quoted(`__sluice_ends ${name}`)} -a ${lastWord(member.name)} -d ${quoted(member.summary)}`,
    ),
  )
  .join("\n")}
${commands.flatMap(commandLines).join("\n")}
`
}

function commandLines({ name, flags, arguments: args }: CompletedCommand): string[] {
  const condition = `-n ${quoted(`__sluice_begins ${name}`)}`
  const values = args.map((argument) => argument.values).find((found) => found !== "none")
  return [
    ...flags.map((flag) => `complete -c sluice ${condition} ${flagText(flag)}`),
    ...(values === undefined ? [] : [`complete -c sluice ${condition} ${argumentText(values)}`]),
  ]
}

function flagText({ long, short, description, values }: CompletedFlag): string {
  const parts = [`-l ${long.slice(2)}`, ...(short === undefined ? [] : [`-s ${short.slice(1)}`])]
  if (values !== undefined) parts.push(values === "files" || values === "folders" ? "-r -F" : "-x")
  if (Array.isArray(values)) parts.push(`-a ${quoted(values.join(" "))}`)
  return [...parts, `-d ${quoted(description)}`].join(" ")
}

function argumentText(values: Values): string {
  return values === "files" || values === "folders"
    ? "-F"
    : `-a ${quoted((values as readonly string[]).join(" "))}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
}
