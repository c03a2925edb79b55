import {
  type CompletedCommand,
  type CompletedFlag,
  firstWords,
  groupsIn,
  lastWord,
  type Values,
} from "./commands.js"

export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const groups = groupsIn(commands)
  return `# Completes sluice in bash. To load it: source <(sluice completion bash)
_sluice() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} name=\${COMP_WORDS[1]} from=2
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _sluice_words "${[...firstWords(commands).map(({ word }) => word), "help", "--help", "--version"].join(" ")}"
    return
  fi
  case $name in
    ${groups.map(({ name }) => name).join("|")})
      if ((COMP_CWORD > 2)); then
        name="$name \${COMP_WORDS[2]}" from=3
      fi
      ;;
  esac
  # Count the arguments before the cursor. The value of a flag is no argument.
  local at=0 i word
  for ((i = from; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      ${valueFlags(commands).join("|")}) ((i++)) ;;
      -?*) ;;
      *) ((at++)) ;;
    esac
  done
  case $name in
${groups.map(({ name, members }) => `    ${name}) _sluice_words "${members.map((member) => lastWord(member.name)).join(" ")}" ;;`).join("\n")}
${commands.map(commandCase).join("\n")}
  esac
}

_sluice_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_sluice_paths() {
  compopt -o filenames
  COMPREPLY=($(compgen "$1" -- "$cur"))
}

complete -F _sluice sluice
`
}

/** The flags that take a value. A flag that takes one takes it in every command. */
function valueFlags(commands: readonly CompletedCommand[]): string[] {
  const counting = commands.filter((command) => command.arguments.length > 0)
  const flags = counting.flatMap((command) => command.flags.filter(({ values }) => values !== undefined))
  return [...new Set(flags.flatMap(spellings))]
}

function spellings({ long, short }: CompletedFlag): string[] {
  return short === undefined ? [long] : [short, long]
}

function commandCase({ name, flags, arguments: args }: CompletedCommand): string {
  const valued = flags.filter(({ values }) => values !== undefined)
  const flagCases = valued.map(
    (flag) => `        ${spellings(flag).join("|")}) ${reply(flag.values ?? "none")} return ;;`,
  )
  const argumentCases = args.flatMap(({ values, many }, at) =>
    values === "none" ? [] : [`        ${many ? "*" : at}) ${reply(values)} ;;`],
  )
  return [
    `    ${name.includes(" ") ? `"${name}"` : name})`,
    ...(flagCases.length === 0 ? [] : ["      case $prev in", ...flagCases, "      esac"]),
    "      if [[ $cur == -* ]]; then",
    `        _sluice_words "${flags.flatMap(spellings).join(" ")}"`,
    "        return",
    "      fi",
    ...(argumentCases.length === 0 ? [] : ["      case $at in", ...argumentCases, "      esac"]),
    "      ;;",
  ].join("\n")
}

function reply(values: Values): string {
  if (values === "none") return ""
  if (values === "files") return "_sluice_paths -f;"
  return values === "folders" ? "_sluice_paths -d;" : `_sluice_words "${values.join(" ")}";`
}
