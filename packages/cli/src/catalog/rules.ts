import { type Invocation, spec } from "../command.js"
import { commentOption, dryRunOption, jsonOption, locationOptions, serviceOptions } from "./options.js"

export const list = spec({
  name: "rules list",
  summary: "List the rules of a service or a file",
  options: { ...locationOptions, json: jsonOption },
  examples: [
    { run: "sluice rules list", does: "of the service on this machine" },
    { run: "sluice rules list --file rules.yaml", does: "of a file" },
  ],
})

export const get = spec({
  name: "rules get",
  summary: "Show a rule, or the whole rule set, as YAML",
  arguments: [{ name: "id", description: "The id of a rule. Default: the whole set.", optional: true }],
  options: {
    ...locationOptions,
    revision: {
      flag: "--revision <number>",
      kind: "integer",
      min: 1,
      description: "Show the rules as they were in this revision.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules get login", does: "one rule" },
    { run: "sluice rules get > rules.yaml", does: "save a copy of all rules" },
    { run: "sluice rules get --revision 7", does: "the rules of an earlier revision" },
  ],
})

export const apply = spec({
  name: "rules apply",
  summary: "Replace the rule set atomically",
  description:
    "Shows what changes. Fails if somebody else changed the rules at the same time. Rules that are not in the file are removed, unless you pass --merge.",
  arguments: [
    { name: "rules", description: "A rule set in YAML or JSON. - is standard input.", kind: "file" },
  ],
  options: {
    ...locationOptions,
    merge: {
      flag: "--merge",
      description: "Add the rules, replace those with the same id, and keep everything else.",
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
  problem: "the rules are invalid, or somebody else changed them at the same time",
})

export const remove = spec({
  name: "rules delete",
  summary: "Remove rules",
  arguments: [{ name: "id", description: "The id of a rule.", many: true }],
  options: { ...locationOptions, comment: commentOption, dryRun: dryRunOption, json: jsonOption },
  examples: [
    { run: "sluice rules delete old-search", does: "from the service on this machine" },
    { run: "sluice rules delete a b --file rules.yaml", does: "two rules, from a file" },
  ],
  problem: "a rule does not exist, or an override or another rule still refers to it",
})

export const diff = spec({
  name: "rules diff",
  summary: "Compare two rule sets",
  arguments: [
    { name: "rules", description: "A rule set in YAML or JSON. - is standard input.", kind: "file" },
    {
      name: "other",
      description: "The newer rule set. Default: compares the rules in force with <rules>.",
      kind: "file",
      optional: true,
    },
  ],
  options: { ...locationOptions, json: jsonOption },
  examples: [
    { run: "sluice rules diff rules.yaml", does: "what applying the file to the service would change" },
    { run: "sluice rules diff old.yaml new.yaml", does: "what changed from one file to the other" },
  ],
  problem: "the rule sets differ",
})

export const validate = spec({
  name: "rules validate",
  summary: "Check rule sets and report every mistake with its line",
  description:
    "Calls no service, unless you pass --url: then the service also checks the rules against its own limits.",
  arguments: [
    {
      name: "rules",
      description: "Rule sets in YAML or JSON. - is standard input.",
      kind: "file",
      many: true,
    },
  ],
  options: { ...serviceOptions, json: jsonOption },
  examples: [
    { run: "sluice rules validate rules.yaml", does: "before you commit the file" },
    { run: "sluice rules validate rules/*.yaml --json", does: "for a script" },
  ],
  problem: "a rule set has mistakes",
})

export const history = spec({
  name: "rules history",
  summary: "Show who changed the rules, when, why, and what changed",
  options: {
    ...locationOptions,
    limit: {
      flag: "-n, --limit <count>",
      kind: "integer",
      min: 1,
      default: "20",
      description: "The maximum number of revisions.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules history", does: "of the service on this machine" },
    {
      run: "sluice rules history --file rules.yaml -n 5",
      does: "of a file: the changes that the service or sluice made",
    },
  ],
})

export const rollback = spec({
  name: "rules rollback",
  summary: "Restore an earlier revision",
  description: "Saves the earlier rules as a new revision. sluice rules history lists all revisions.",
  arguments: [{ name: "revision", description: "The number of the revision." }],
  options: { ...locationOptions, comment: commentOption, dryRun: dryRunOption, json: jsonOption },
  examples: [{ run: 'sluice rules rollback 7 -m "denied too many"', does: "back to revision 7" }],
})

export const importRules = spec({
  name: "rules import",
  summary: "Convert a configuration of envoyproxy/ratelimit into a rule set",
  description:
    "Prints the rules. A request with one descriptor and one hit gets the same decision as with envoyproxy/ratelimit. With several descriptors, a denied request charges nothing, which is different there. Notes on standard error list the settings that have no effect or another effect here.",
  arguments: [
    {
      name: "config",
      description: "YAML files of envoyproxy/ratelimit. - is standard input.",
      kind: "file",
      many: true,
    },
  ],
  options: {
    mergeDomains: {
      flag: "--merge-domains",
      description: "Merge files of the same domain, as MERGE_DOMAIN_CONFIG does.",
    },
    json: jsonOption,
  },
  examples: [
    { run: "sluice rules import config.yaml > rules.yaml", does: "one file" },
    {
      run: "sluice rules import config/*.yaml --merge-domains | sluice rules apply -",
      does: "directly into the service",
    },
  ],
  problem: "the configuration has mistakes",
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
