import { fields } from "../config/fields.js"
import { isSecret, withoutLogin } from "../config/print.js"
import type { CommandWith } from "./serving/start-errors.js"

/**
 * Rewrites the command that somebody typed so that it uses other flags. Flags override environment variables and the file,
 * so the new command works wherever the old value came from. It leaves out the values of secret settings.
 */
export function commandLine(program: string, argv: readonly string[]): CommandWith {
  return (flags) => {
    const kept: string[] = []
    for (let i = 0; i < argv.length; i++) {
      const word = argv[i] as string
      const [flag = "", value] = word.split(/=(.*)/s)
      const takesNext = value === undefined && isFollowedByValue(argv, i)
      if (!flags.has(flag)) kept.push(...shown(word, flag, takesNext ? argv[i + 1] : undefined))
      if (takesNext) i++
    }
    const words = [...kept, ...[...flags].flat()].map(quoted)
    const needsDashes = program === "npm start" && words.length > 0
    return [program, ...(needsDashes ? ["--"] : []), ...words].join(" ")
  }
}

function isFollowedByValue(argv: readonly string[], at: number): boolean {
  const next = argv[at + 1]
  return argv[at]?.startsWith("-") === true && next !== undefined && !next.startsWith("-")
}

function shown(word: string, flag: string, next: string | undefined): string[] {
  const field = fields().find((known) => known.flag === flag || `--${known.path.join(".")}` === flag)
  const isHidden = field !== undefined && isSecret(field.path)
  if (next !== undefined) return [word, isHidden ? "…" : withoutLogin(next)]
  if (word === flag) return [word]
  return [`${flag}=${isHidden ? "…" : withoutLogin(word.slice(flag.length + 1))}`]
}

function quoted(word: string): string {
  return /^[\w@%+=:,./…-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
