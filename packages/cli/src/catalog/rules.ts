import { command, type Invocation, spec } from "../command.js"
import { commentOption, dryRunOption, jsonOption, placeOptions, serviceOptions } from "./options.js"

const list = spec({
  name: "rules list",
  summary: "List the rules in force, or those of a file",
  options: { ...placeOptions, json: jsonOption },
  examples: [
    { run: "sluice rules list", does: "of the service on this machine" },
    { run: "sluice rules list --file rules.yaml", does: "of a file" },
  ],
})

const get = spec({
  name: "rules get",
  summary: "Show a rule, or the whole rule set, as YAML",
  arguments: [{ name: "id", description: "Of the rule. Default: the whole set.", optional: true }],
  options: {
    ...placeOptions,
    revision: {
      flag: "--revision <number>",
      kind: "integer",
      min: 1,
      description: "As it was in this revision.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules get login", does: "one rule" },
    { run: "sluice rules get > rules.yaml", does: "keep a copy of all of them" },
    { run: "sluice rules get --revision 7", does: "what was in force then" },
  ],
})

const apply = spec({
  name: "rules apply",
  summary: "Put a rule set in force, whole or not at all",
  description:
    "Shows what changes, and changes it only if nobody else has changed the rules meanwhile. Whatever is not in the file is removed, unless --merge is given.",
  arguments: [
    { name: "rules", description: "A rule set in YAML or JSON; - for standard input.", kind: "file" },
  ],
  options: {
    ...placeOptions,
    merge: {
      flag: "--merge",
      description:
        "Add its rules, or put them in the place of those with the same id, and keep everything else.",
    },
    comment: commentOption,
    dryRun: dryRunOption,
    json: jsonOption,
  },
  examples: [
    { run: 'sluice rules apply rules.yaml -m "limits of the sale"', does: "to the service on this machine" },
    {
      run: "sluice rules apply suggested.yaml --merge --file rules.yaml",
      does: "into another file, whose comments stay",
    },
    { run: "sluice rules apply rules.yaml --dry-run", does: "only show what would change" },
  ],
  problem: "the rules were refused, or somebody else has changed them meanwhile",
})

const remove = spec({
  name: "rules delete",
  summary: "Remove rules",
  arguments: [{ name: "id", description: "Of a rule.", many: true }],
  options: { ...placeOptions, comment: commentOption, dryRun: dryRunOption, json: jsonOption },
  examples: [
    { run: "sluice rules delete old-search", does: "from the service on this machine" },
    { run: "sluice rules delete a b --file rules.yaml", does: "two, from a file" },
  ],
  problem: "there is no such rule, or an override or another rule still names it",
})

const diff = spec({
  name: "rules diff",
  summary: "Show what a rule set changes",
  arguments: [
    { name: "rules", description: "A rule set in YAML or JSON; - for standard input.", kind: "file" },
    { name: "other", description: "Another one, that came after it.", kind: "file", optional: true },
  ],
  options: { ...placeOptions, json: jsonOption },
  examples: [
    { run: "sluice rules diff rules.yaml", does: "against what is in force in the service" },
    { run: "sluice rules diff old.yaml new.yaml", does: "one file against another" },
  ],
  problem: "they differ",
})

const validate = spec({
  name: "rules validate",
  summary: "Check rule sets, with every mistake and its place",
  description: "Asks nobody, unless --url is given: then the service checks them too, within its own bounds.",
  arguments: [
    {
      name: "rules",
      description: "Rule sets in YAML or JSON; - for standard input.",
      kind: "file",
      many: true,
    },
  ],
  options: { ...serviceOptions, json: jsonOption },
  examples: [
    { run: "sluice rules validate rules.yaml", does: "before it is committed" },
    { run: "sluice rules validate rules/*.yaml --json", does: "for a program" },
  ],
  problem: "there are mistakes",
})

const history = spec({
  name: "rules history",
  summary: "Show who changed the rules, when, why and what",
  options: {
    ...placeOptions,
    limit: {
      flag: "-n, --limit <count>",
      kind: "integer",
      min: 1,
      default: "20",
      description: "The most shown.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules history", does: "of the service on this machine" },
    {
      run: "sluice rules history --file rules.yaml -n 5",
      does: "of a file: what was saved by the service or by sluice",
    },
  ],
})

const rollback = spec({
  name: "rules rollback",
  summary: "Put an earlier revision in force again",
  description: "As a new revision: the history only grows. sluice rules history shows which there are.",
  arguments: [{ name: "revision", description: "Its number." }],
  options: { ...placeOptions, comment: commentOption, dryRun: dryRunOption, json: jsonOption },
  examples: [{ run: 'sluice rules rollback 7 -m "denied too many"', does: "back to revision 7" }],
})

const importRules = spec({
  name: "rules import",
  summary: "Turn a configuration of envoyproxy/ratelimit into a rule set",
  description:
    "For a request of one descriptor and one hit, the rules decide as that configuration does; with several, they differ in that a denied request charges nothing. They are printed; what was read and means nothing here, or something else, is told on standard error.",
  arguments: [
    {
      name: "config",
      description: "YAML files of envoyproxy/ratelimit; - for standard input.",
      kind: "file",
      many: true,
    },
  ],
  options: {
    mergeDomains: {
      flag: "--merge-domains",
      description: "Files of the same domain make up one, as with MERGE_DOMAIN_CONFIG.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules import config.yaml > rules.yaml", does: "one file" },
    {
      run: "sluice rules import config/*.yaml --merge-domains | sluice rules apply -",
      does: "straight into the service",
    },
  ],
  problem: "there are mistakes in it",
})

export type ListRules = Invocation<typeof list>
export type GetRules = Invocation<typeof get>
export type ApplyRules = Invocation<typeof apply>
export type DeleteRules = Invocation<typeof remove>
export type DiffRules = Invocation<typeof diff>
export type ValidateRules = Invocation<typeof validate>
export type RulesHistory = Invocation<typeof history>
export type RollbackRules = Invocation<typeof rollback>
export type ImportRules = Invocation<typeof importRules>

export const rulesCommands = [
  command(list, async (invocation) => (await import("../commands/rules/list.js")).listRules(invocation)),
  command(get, async (invocation) => (await import("../commands/rules/get.js")).getRules(invocation)),
  command(apply, async (invocation) => (await import("../commands/rules/apply.js")).applyRules(invocation)),
  command(remove, async (invocation) =>
    (await import("../commands/rules/delete.js")).deleteRules(invocation),
  ),
  command(diff, async (invocation) => (await import("../commands/rules/diff.js")).diffRules(invocation)),
  command(validate, async (invocation) =>
    (await import("../commands/rules/validate.js")).validateRules(invocation),
  ),
  command(history, async (invocation) =>
    (await import("../commands/rules/history.js")).rulesHistory(invocation),
  ),
  command(rollback, async (invocation) =>
    (await import("../commands/rules/rollback.js")).rollbackRules(invocation),
  ),
  command(importRules, async (invocation) =>
    (await import("../commands/rules/import.js")).importRules(invocation),
  ),
]
