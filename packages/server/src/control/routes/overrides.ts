// Overrides: other limits for single clients. An override is identified by its client and its rules.

import { SluiceError } from "sluice"
import type { OverrideSpec, RuleSetDocument } from "sluice/rules"
import { z } from "zod"
import type { Core } from "../../core.js"
import { listBody, partBody } from "../api/body.js"
import type { Editor } from "../api/editor.js"
import type { JsonObject } from "../api/json.js"
import { revisionHeaders } from "../api/revision-etag.js"
import { type Route, route } from "../api/route.js"
import { changeQuery, OVERRIDE } from "../api/schemas.js"

const tag = "Overrides"
const list = { type: "array", items: OVERRIDE }

const which = {
  client: z.string().min(1).max(512).meta({ description: 'As it stands in the override: "user:42".' }),
  rule: z.string().min(1).max(64).optional().meta({ description: "Only those for this rule." }),
}

export function overrideRoutes({ rules }: Core, editor: Editor): Route[] {
  return [
    route({
      method: "GET",
      path: "/overrides",
      role: "reader",
      tag,
      summary: "List overrides, of all clients or of one",
      query: z.strictObject({ client: which.client.optional(), rule: which.rule }),
      answer: { description: "In the order of the set: the first that fits counts.", schema: list },
      run: ({ query }) => ({
        headers: revisionHeaders(rules.current),
        json: overridesOf(rules.current.document).filter((override) => isMeant(override, query)),
      }),
    }),
    route({
      method: "PUT",
      path: "/overrides",
      role: "editor",
      tag,
      summary: "Replace all overrides",
      query: changeQuery,
      body: listBody(list),
      edits: true,
      answer: { description: "The overrides after the change.", schema: list },
      async run(asked) {
        const saved = await editor.edit(asked, { action: "PUT /overrides" }, (set) =>
          withOverrides(set, asked.body),
        )
        return { headers: revisionHeaders(saved), json: overridesOf(saved.document) }
      },
    }),
    route({
      method: "POST",
      path: "/overrides",
      role: "editor",
      tag,
      summary: "Add an override",
      description: "It replaces an override for the same client and the same rules.",
      query: changeQuery,
      body: partBody(OVERRIDE),
      edits: true,
      answer: { status: 201, description: "The override.", schema: OVERRIDE },
      async run(asked) {
        const { body } = asked
        const change = { action: "POST /overrides", target: String(body.client) }
        const saved = await editor.edit(asked, change, (set) => {
          const known = overridesOf(set)
          const isNew = !known.some((override) => isSame(override, body))
          return withOverrides(
            set,
            isNew ? [...known, body] : known.map((override) => (isSame(override, body) ? body : override)),
          )
        })
        return {
          status: 201,
          headers: revisionHeaders(saved),
          json: overridesOf(saved.document).find((override) => isSame(override, body)),
        }
      },
    }),
    route({
      method: "DELETE",
      path: "/overrides",
      role: "editor",
      tag,
      summary: "Remove the overrides of a client",
      query: changeQuery.extend(which),
      edits: true,
      answer: { status: 204, description: "Removed." },
      async run(asked) {
        const { query } = asked
        const saved = await editor.edit(
          asked,
          { action: "DELETE /overrides", target: query.client },
          (set) => {
            const kept = overridesOf(set).filter((override) => !isMeant(override, query))
            if (kept.length < overridesOf(set).length) return withOverrides(set, kept)
            throw new SluiceError("ENTRY_UNKNOWN", {
              place: "query.client",
              expected: "must be a client that has an override",
              found: query.client,
            })
          },
        )
        return { status: 204, headers: revisionHeaders(saved) }
      },
    }),
  ]
}

function overridesOf({ overrides }: RuleSetDocument): readonly OverrideSpec[] {
  return overrides ?? []
}

/** Leaves out the field if the list is empty, because an empty list would be a change of its own. */
function withOverrides({ overrides: _, ...set }: RuleSetDocument, overrides: readonly unknown[]): unknown {
  return overrides.length === 0 ? set : { ...set, overrides }
}

function isMeant(
  override: OverrideSpec,
  { client, rule }: { client?: string | undefined; rule?: string | undefined },
): boolean {
  return (
    (client === undefined || override.client === client) &&
    (rule === undefined || [override.rule ?? []].flat().includes(rule))
  )
}

function isSame(override: OverrideSpec, { client, rule }: JsonObject): boolean {
  const rules = (given: unknown) => JSON.stringify([given ?? []].flat().toSorted())
  return override.client === client && rules(override.rule) === rules(rule)
}
