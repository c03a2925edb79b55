// Lists of clients: the allow list, the deny list, and the tiers.

import { SluiceError } from "sluice"
import type { RuleSetDocument } from "sluice/rules"
import type { Core } from "../../core.js"
import { jsonBody, listBody } from "../api/body.js"
import type { Editor } from "../api/editor.js"
import { revisionHeaders } from "../api/revision-etag.js"
import { type Asked, type Route, route } from "../api/route.js"
import {
  apiKeyBody,
  type ChangeQuery,
  CLIENTS,
  changeQuery,
  clientBody,
  removeClientQuery,
} from "../api/schemas.js"

/** A kind of list, and where it is in a rule set. */
interface Kind {
  readonly tag: string
  readonly path: string
  /** Completes the phrase "the clients …". */
  readonly who: string
  /** Undefined if the list does not exist. */
  get(set: RuleSetDocument, name: string): readonly string[] | undefined
  put(set: RuleSetDocument, name: string, clients: readonly unknown[] | undefined): unknown
}

const LISTS: Kind = {
  tag: "Lists",
  path: "/lists/:name",
  who: "on a list: allow (never limited, never counted) or deny (always denied)",
  get: (set, name) => set[listName(name)] ?? [],
  put(set, name, clients = []) {
    const { [listName(name)]: _, ...others } = set
    return clients.length === 0 ? others : { ...others, [name]: clients }
  },
}

const TIERS: Kind = {
  tag: "Tiers",
  path: "/tiers/:name",
  who: "in a tier",
  get: ({ tiers = {} }, name) => (Object.hasOwn(tiers, name) ? tiers[name] : undefined),
  put({ tiers = {}, ...others }, name, clients) {
    const { [name]: _, ...kept } = tiers
    const next = clients === undefined ? kept : { ...tiers, [name]: clients }
    return Object.keys(next).length === 0 ? others : { ...others, tiers: next }
  },
}

export function clientRoutes({ engine, rules }: Core, editor: Editor): Route[] {
  return [
    route({
      method: "POST",
      path: "/api-keys/hash",
      role: "editor",
      tag: LISTS.tag,
      summary: "Get the name of a client from its API key",
      description:
        "Rules, lists and keys hold the keyed hash of an API key, never the key. Nothing is kept of it.",
      body: jsonBody(apiKeyBody),
      answer: { description: "The name in the form that lists and overrides use.", schema: clientBody },
      run: ({ body }) => ({ json: { client: `apiKey:${engine.hashApiKey(body.apiKey)}` } }),
    }),
    ...routesOf(LISTS, { rules }, editor),
    route({
      method: "GET",
      path: "/tiers",
      role: "reader",
      tag: TIERS.tag,
      summary: "All tiers with their clients",
      answer: { description: "By name.", schema: { type: "object", additionalProperties: CLIENTS } },
      run: () => ({ headers: revisionHeaders(rules.current), json: rules.current.document.tiers ?? {} }),
    }),
    ...routesOf(TIERS, { rules }, editor),
    route({
      method: "DELETE",
      path: "/tiers/:name",
      role: "editor",
      tag: TIERS.tag,
      summary: "Remove a tier",
      description: "Its clients then have no tier, or that of `defaults.tier`.",
      query: changeQuery,
      edits: true,
      answer: { status: 204, description: "Removed." },
      run: (asked) =>
        change(asked, editor, TIERS, (set, name) => {
          existing(TIERS, set, name)
          return TIERS.put(set, name, undefined)
        }),
    }),
  ]
}

function routesOf(kind: Kind, { rules }: Pick<Core, "rules">, editor: Editor): Route[] {
  const { tag, path, who } = kind
  const shown = (set: RuleSetDocument, name: string) => kind.get(set, name) ?? []
  return [
    route({
      method: "GET",
      path,
      role: "reader",
      tag,
      summary: `The clients ${who}`,
      answer: { description: "Their names.", schema: CLIENTS },
      run: ({ params }) => ({
        headers: revisionHeaders(rules.current),
        json: existing(kind, rules.current.document, String(params.name)),
      }),
    }),
    route({
      method: "PUT",
      path,
      role: "editor",
      tag,
      summary: `Replace the clients ${who}`,
      query: changeQuery,
      body: listBody(CLIENTS),
      edits: true,
      answer: { description: "The names after the change.", schema: CLIENTS },
      run: (asked) => change(asked, editor, kind, (set, name) => kind.put(set, name, asked.body)),
    }),
    route({
      method: "POST",
      path: `${path}/clients`,
      role: "editor",
      tag,
      summary: `Add a client to those ${who}`,
      query: changeQuery,
      body: jsonBody(clientBody),
      edits: true,
      answer: { description: "The names after the change.", schema: CLIENTS },
      run: (asked) =>
        change(asked, editor, kind, (set, name) => {
          const { client } = asked.body
          const known = shown(set, name)
          return kind.put(set, name, known.includes(client) ? known : [...known, client])
        }),
    }),
    route({
      method: "DELETE",
      path: `${path}/clients`,
      role: "editor",
      tag,
      summary: `Remove a client from those ${who}`,
      query: removeClientQuery,
      edits: true,
      answer: { description: "The names after the change.", schema: CLIENTS },
      run: (asked) =>
        change(asked, editor, kind, (set, name) => {
          const { client } = asked.query
          const known = shown(set, name)
          if (known.includes(client)) {
            return kind.put(
              set,
              name,
              known.filter((other) => other !== client),
            )
          }
          throw new SluiceError("ENTRY_UNKNOWN", {
            place: "query.client",
            expected: "must be a client on the list",
            found: client,
          })
        }),
    }),
  ]
}

async function change(
  asked: Asked<ChangeQuery>,
  editor: Editor,
  kind: Kind,
  edit: (set: RuleSetDocument, name: string) => unknown,
) {
  const name = String(asked.params.name)
  const action = `${asked.request.method} ${kind.path}`
  const saved = await editor.edit(asked, { action, target: name }, (set) => edit(set, name))
  const clients = kind.get(saved.document, name)
  const headers = revisionHeaders(saved)
  return clients === undefined ? { status: 204, headers } : { headers, json: clients }
}

function existing(kind: Kind, set: RuleSetDocument, name: string): readonly string[] {
  const clients = kind.get(set, name)
  if (clients !== undefined) return clients
  throw new SluiceError("ENTRY_UNKNOWN", {
    place: "tier",
    expected: "must be a tier of this set",
    found: name,
  })
}

function listName(name: string): "allow" | "deny" {
  if (name === "allow" || name === "deny") return name
  throw new SluiceError("ENTRY_UNKNOWN", { place: "list", expected: "must be allow or deny", found: name })
}
