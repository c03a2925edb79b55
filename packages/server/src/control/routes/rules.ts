// The rule set and its rules.

import { SluiceError } from "sluice"
import {
  diffRuleSets,
  type RuleSetDocument,
  RuleSetError,
  type RuleSetRevision,
  type RuleSpec,
} from "sluice/rules"
import type { Core } from "../../core.js"
import type { RuleChecker, SentDocument } from "../../rule-work/rule-checker.js"
import { documentBody, jsonBody, partBody, patchBody, YAML_TYPES } from "../api/body.js"
import type { Editor } from "../api/editor.js"
import type { JsonObject } from "../api/json.js"
import { mergePatch } from "../api/json.js"
import { revisionHeaders, YAML_VARIANT } from "../api/revision-etag.js"
import { type Answer, type Asked, type Route, route } from "../api/route.js"
import {
  changeQuery,
  RULE,
  RULE_SET,
  revisionList,
  rollbackBody,
  validateQuery,
  verdict,
} from "../api/schemas.js"

const tag = "Rules"

export function ruleRoutes({ rules }: Core, editor: Editor, checker: RuleChecker): Route[] {
  return [
    route({
      method: "GET",
      path: "/rules",
      role: "reader",
      tag,
      summary: "Get the whole rule set",
      description: "As JSON, or as YAML with `Accept: application/yaml`.",
      answer: {
        description: "The rules in force. `etag` names them.",
        schema: RULE_SET,
        types: ["application/json", "application/yaml"],
      },
      run: ({ request }) => documentAnswer(checker, request.headers.accept, rules.current),
    }),
    route({
      method: "PUT",
      path: "/rules",
      role: "editor",
      tag,
      summary: "Replace the whole rule set",
      query: changeQuery,
      body: documentBody(RULE_SET),
      edits: true,
      answer: { description: "The rules now in force.", schema: RULE_SET },
      run: async (asked) =>
        documentAnswer(
          checker,
          asked.request.headers.accept,
          await editor.replace(asked, { action: "PUT /rules" }),
        ),
    }),
    route({
      method: "POST",
      path: "/rules",
      role: "editor",
      tag,
      summary: "Add a rule",
      query: changeQuery,
      body: partBody(RULE),
      edits: true,
      answer: { status: 201, description: "The rule after the change.", schema: RULE },
      async run(asked) {
        const { body } = asked
        const id = String(body.id)
        const saved = await editor.edit(asked, { action: "POST /rules", target: id }, (set) => {
          if (ruleIn(set, id) !== undefined)
            throw new SluiceError("RULE_DUPLICATE", {
              place: "id",
              expected: "must not be that of another rule",
              found: id,
            })
          return added(set, body)
        })
        const answer = ruleAnswer(saved, id, 201)
        return { ...answer, headers: { ...answer.headers, location: `/rules/${encodeURIComponent(id)}` } }
      },
    }),
    route({
      method: "GET",
      path: "/rules/:id",
      role: "reader",
      tag,
      summary: "Get a rule",
      answer: { description: "The rule. `etag` is that of the whole set.", schema: RULE },
      run: ({ params }) => ruleAnswer(rules.current, String(params.id)),
    }),
    route({
      method: "PUT",
      path: "/rules/:id",
      role: "editor",
      tag,
      summary: "Replace a rule, or add it",
      description: "`id` may be left out of the body. A rule that is new is answered with 201.",
      query: changeQuery,
      body: partBody(RULE),
      edits: true,
      answer: { description: "The rule after the change.", schema: RULE },
      async run(asked) {
        const id = String(asked.params.id)
        const rule = withId(asked.body, id)
        let status = 200
        const saved = await editor.edit(asked, { action: "PUT /rules/:id", target: id }, (set) => {
          if (ruleIn(set, id) !== undefined) return replaced(set, id, rule)
          status = 201
          return added(set, rule)
        })
        return ruleAnswer(saved, id, status)
      },
    }),
    route({
      method: "PATCH",
      path: "/rules/:id",
      role: "editor",
      tag,
      summary: "Change a part of a rule",
      description: "A merge patch (RFC 7396): null removes a field, and a list replaces the whole list.",
      query: changeQuery,
      body: patchBody({ type: "object", description: "Fields of a rule. Null removes a field." }),
      edits: true,
      answer: { description: "The rule after the change.", schema: RULE },
      async run(asked) {
        const id = String(asked.params.id)
        const patch = withId(asked.body, id)
        const saved = await editor.edit(asked, { action: "PATCH /rules/:id", target: id }, (set) =>
          replaced(set, id, mergePatch(existing(set, id), patch)),
        )
        return ruleAnswer(saved, id)
      },
    }),
    route({
      method: "DELETE",
      path: "/rules/:id",
      role: "editor",
      tag,
      summary: "Remove a rule",
      description: "Refused while an override or another rule refers to it.",
      query: changeQuery,
      edits: true,
      answer: { status: 204, description: "Removed." },
      async run(asked) {
        const id = String(asked.params.id)
        const saved = await editor.edit(asked, { action: "DELETE /rules/:id", target: id }, (set) => {
          existing(set, id)
          return { ...set, rules: set.rules.filter((rule) => rule.id !== id) }
        })
        return { status: 204, headers: revisionHeaders(saved) }
      },
    }),
    route({
      method: "POST",
      path: "/rules/validate",
      role: "reader",
      tag,
      summary: "Check a rule set, or a single rule, without putting it in force",
      description: "With `rule`, the body is one rule, which is checked as a part of the set in force.",
      query: validateQuery,
      body: documentBody(RULE_SET),
      answer: { description: "Whether it is valid, and every mistake in it.", schema: verdict },
      async run({ body, query }) {
        const { document } = rules.current
        if (query.rule === undefined) {
          const checking = checker.check(body).then((checked) => checked.document)
          return { json: await verdictOn(checking, document) }
        }
        const sent = { text: textOf(body), within: document, id: query.rule }
        return { json: await verdictOnRule(checker.checkRule(sent), document, query.rule) }
      },
    }),
    route({
      method: "GET",
      path: "/rules/revisions",
      role: "reader",
      tag,
      summary: "List the revisions, newest first",
      answer: { description: "The revisions that are kept.", schema: revisionList },
      run: async () => ({ json: await rules.revisions() }),
    }),
    route({
      method: "GET",
      path: "/rules/revisions/:revision",
      role: "reader",
      tag,
      summary: "Get an earlier revision",
      answer: {
        description: "Its content.",
        schema: RULE_SET,
        types: ["application/json", "application/yaml"],
      },
      async run({ params, request }) {
        const found = await rules.revision(Number(params.revision))
        if (found !== undefined) return documentAnswer(checker, request.headers.accept, found)
        throw new SluiceError("RULES_REVISION_UNKNOWN", {
          place: "revision",
          expected: "must be a stored revision; /rules/revisions lists them",
          found: params.revision,
        })
      },
    }),
    route({
      method: "POST",
      path: "/rules/rollback",
      role: "editor",
      tag,
      summary: "Put an earlier revision in force again",
      description: "It becomes a new revision: the history only grows.",
      body: jsonBody(rollbackBody),
      edits: true,
      answer: { description: "The rules now in force.", schema: RULE_SET },
      async run(asked) {
        const { revision, comment } = asked.body
        const change = { action: "POST /rules/rollback", target: String(revision) }
        const saved = await editor.rollback(asked as Asked, change, revision, comment)
        return documentAnswer(checker, asked.request.headers.accept, saved)
      },
    }),
  ]
}

async function documentAnswer(
  checker: RuleChecker,
  accept: string | undefined,
  revision: RuleSetRevision,
): Promise<Answer> {
  const isYaml = YAML_TYPES.some((type) => accept?.toLowerCase().includes(type))
  const headers = { ...revisionHeaders(revision, isYaml ? YAML_VARIANT : ""), vary: "accept" }
  return isYaml
    ? { headers, type: "application/yaml", content: await checker.format(revision.document) }
    : { headers, json: revision.document }
}

function ruleAnswer(revision: RuleSetRevision, id: string, status = 200): Answer {
  return { status, headers: revisionHeaders(revision), json: existing(revision.document, id) }
}

/** Every JSON text is also YAML. */
function textOf(body: SentDocument): string {
  return "text" in body ? body.text : JSON.stringify(body.value)
}

async function verdictOnRule(checking: Promise<RuleSpec>, current: RuleSetDocument, id: string) {
  let rule: RuleSpec | undefined
  const whole = checking.then((checked) => {
    rule = checked
    const isKnown = ruleIn(current, id) !== undefined
    return (isKnown ? replaced(current, id, rule) : added(current, rule)) as RuleSetDocument
  })
  const verdict = await verdictOn(whole, current)
  return { ...verdict, ...(rule === undefined ? {} : { rule }) }
}

async function verdictOn(checking: Promise<RuleSetDocument>, current: RuleSetDocument) {
  try {
    return { valid: true, problems: [], changes: diffRuleSets(current, await checking) }
  } catch (error) {
    if (error instanceof RuleSetError) return { valid: false, problems: error.problems }
    throw error
  }
}

function ruleIn(set: RuleSetDocument, id: string): RuleSpec | undefined {
  return set.rules.find((rule) => rule.id === id)
}

function existing(set: RuleSetDocument, id: string): RuleSpec {
  const rule = ruleIn(set, id)
  if (rule !== undefined) return rule
  throw new SluiceError("RULE_UNKNOWN", { place: "rule", expected: "must be the id of a rule", found: id })
}

function added(set: RuleSetDocument, rule: unknown): unknown {
  return { ...set, rules: [...set.rules, rule] }
}

function replaced(set: RuleSetDocument, id: string, rule: unknown): unknown {
  return { ...set, rules: set.rules.map((known) => (known.id === id ? rule : known)) }
}

/** A rule keeps the id in its path. Another id would be another rule, with counters of its own. */
function withId(body: JsonObject, id: string): JsonObject {
  if (body.id === undefined || body.id === id) return { id, ...body }
  throw new SluiceError("BODY_FIELD_INVALID", {
    place: "body.id",
    expected: `must be ${JSON.stringify(id)}, as the path says, or left out`,
    found: body.id,
  })
}
