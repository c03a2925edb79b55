import { parseRuleSet, type RuleProblem, RuleSetError } from "sluice/rules"
import type { ValidateRules } from "../../catalog/rules.js"
import type { ExitCode } from "../../command.js"
import { nameOf, readInput } from "../../files.js"
import { controlPlane, type ServiceClient } from "../../service-client.js"
import { counted, printable } from "../../terminal/text.js"

interface Verdict {
  readonly rules?: number
  readonly problems: readonly RuleProblem[]
}

export async function validateRules({ args, options, terminal, env }: ValidateRules): Promise<ExitCode> {
  const { style } = terminal
  const service = options.url === undefined ? undefined : controlPlane(options, env)
  const verdicts: (Verdict & { readonly file: string })[] = []
  for (const path of args.rules) {
    const text = await readInput(path, terminal.stdin)
    const verdict = validate(text)
    const remote =
      service !== undefined && verdict.problems.length === 0 ? await problemsOfService(service, text) : []
    verdicts.push({ file: nameOf(path), ...verdict, problems: [...verdict.problems, ...remote] })
  }
  const isValid = verdicts.every(({ problems }) => problems.length === 0)
  if (options.json) {
    terminal.json(verdicts.map(({ file, problems }) => ({ file, valid: problems.length === 0, problems })))
    return isValid ? 0 : 1
  }
  for (const { file, rules = 0, problems } of verdicts) {
    if (problems.length === 0) terminal.print(`${file}: ${style.green("valid")}, ${counted(rules, "rule")}`)
    for (const problem of problems) terminal.print(problemLine(file, problem))
  }
  return isValid ? 0 : 1
}

function validate(text: string): Verdict {
  try {
    return { rules: parseRuleSet(text).rules.length, problems: [] }
  } catch (error) {
    if (error instanceof RuleSetError) return { problems: error.problems }
    throw error
  }
}

async function problemsOfService(service: ServiceClient, text: string): Promise<readonly RuleProblem[]> {
  const { problems } = await service.request<Verdict>("POST", "/rules/validate", {
    body: text,
    type: "application/yaml",
  })
  return problems
}

/** `file:line:column message`, the format of compilers, which editors turn into links. */
function problemLine(file: string, { line, column, rule, path, message, code }: RuleProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`
  const where = rule === undefined ? path : `rule "${rule}": ${path.replace(/^rules\[\d+\]\.?/, "")}`
  return printable(`${place} ${[where, message].filter((part) => part !== "").join(" ")} [${code}]`)
}
