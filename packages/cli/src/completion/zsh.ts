import {
  type CompletedCommand,
  type CompletedFlag,
  firstWords,
  groupsIn,
  lastWord,
  type Values,
} from "./commands.js"

export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const groups = groupsIn(commands)
  return `#compdef sluice
# Completes sluice in zsh. To load it: sluice completion zsh > "$fpath[1]/_sluice"
_sluice() {
  local name=$words[2]
  if (( CURRENT == 2 )); then
    local -a names=(
${firstWords(commands)
  .map(({ word, summary }) => `      ${described(word, summary)}`)
  .join("\n")}
    )
    _describe command names
    return
  fi
  case $name in
${groups
  .map(
    ({ name, members }) => `    ${name})
      if (( CURRENT == 3 )); then
        local -a names=(
${members.map((member) => `          ${described(lastWord(member.name), member.summary)}`).join("\n")}
        )
        _describe command names
        return
      fi
      name="${name} $words[3]"
      shift words
      (( CURRENT-- ))
      ;;`,
  )
  .join("\n")}
  esac
  shift words
  (( CURRENT-- ))
  case $name in
${commands.map(commandCase).join("\n")}
  esac
}

if [[ $funcstack[1] == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
`
}

function described(word: string, summary: string): string {
  return quoted(`${word}:${summary}`)
}

function commandCase({ name, flags, arguments: args }: CompletedCommand): string {
  const specs = [
    ...flags.flatMap(flagSpecs),
    ...args.map(({ name, values, many }, i) => quoted(`${many ? "*" : i + 1}:${name}:${action(values)}`)),
  ]
  return [
    `    ${quoted(name)})`,
    `      _arguments -s \\`,
    ...specs.map((spec, i) => `        ${spec}${i < specs.length - 1 ? " \\" : ""}`),
    "      ;;",
  ].join("\n")
}

function flagSpecs({ long, short, description, values }: CompletedFlag): string[] {
  const value = values === undefined ? "" : `:value:${action(values)}`
  // Brackets, colons and backslashes have a meaning in a spec of _arguments.
  const text = description.replace(/([[\]\\:])/g, "\\$1")
  return [long, ...(short === undefined ? [] : [short])].map((flag) => quoted(`${flag}[${text}]${value}`))
}

function action(values: Values): string {
  if (values === "none") return " "
  if (values === "files") return "_files"
  return values === "folders" ? "_files -/" : `(${values.join(" ")})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
