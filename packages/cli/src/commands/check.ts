import type { RuleEngine } from "sluice/rules"
import { askedRequest } from "../asked-request.js"
import type { CheckInvocation } from "../catalog/check.js"
import type { ExitCode } from "../command.js"
import { decisionText, type ShownDecision } from "../decision-text.js"
import { decisionForJson, openLocalEngine } from "../local-engine.js"
import { dataPlane } from "../service.js"
import { UsageError } from "../usage-error.js"

export async function checkRequest(invocation: CheckInvocation): Promise<ExitCode> {
  const { options, terminal } = invocation
  const ask = await asker(invocation)
  const decisions: ShownDecision[] = []
  for (let i = 0; i < options.times; i++) {
    const decision = await ask()
    decisions.push(decision)
    if (!options.json) terminal.print(decisionText(decision, terminal.style))
  }
  if (options.json) terminal.json(options.times === 1 ? decisions[0] : decisions)
  return decisions.at(-1)?.allowed ? 0 : 1
}

async function asker(invocation: CheckInvocation): Promise<() => Promise<ShownDecision>> {
  const { options, terminal, env } = invocation
  if (options.rules !== undefined && options.url !== undefined)
    throw new UsageError("--rules", "cannot be given beside --url")
  const question = questionOf(invocation)
  if (options.rules === undefined) {
    const service = dataPlane(options, env)
    return () => service.ask<ShownDecision>("POST", "/v1/check", { body: question })
  }
  const engine = await openLocalEngine(options.rules, terminal.stdin)
  return async () => decisionForJson(await decide(engine, question)) as ShownDecision
}

type Question = ReturnType<typeof questionOf>

function questionOf({ args, options }: CheckInvocation) {
  const cost = options.cost === undefined ? {} : { cost: options.cost }
  if (options.rule === undefined) return { ...askedRequest({ args, options }), ...cost }
  const [key, ...more] = args.key
  if (key === undefined || more.length > 0) throw new UsageError("key", "must be there once beside --rule")
  for (const name of ["method", "path", "host"] as const)
    if (options[name] !== undefined) throw new UsageError(`--${name}`, "cannot be given beside --rule")
  const tier = options.tier === undefined ? {} : { tier: options.tier }
  return { rule: options.rule, key, ...tier, ...cost }
}

async function decide(engine: RuleEngine, question: Question): Promise<unknown> {
  if ("rule" in question) return await engine.checkKey(question.rule, question.key, question)
  return await engine.check(question, question)
}
