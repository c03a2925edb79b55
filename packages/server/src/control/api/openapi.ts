// Makes the API description (OpenAPI 3.1) from the routes and the schemas that check requests.

import { ruleSetJsonSchema } from "sluice/rules"
import { z } from "zod"
import type { JsonSchema } from "./json.js"
import type { Route } from "./route.js"
import { problemBody, ref } from "./schemas.js"

export interface OpenApi {
  readonly openapi: "3.1.0"
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string }[]
  readonly security: readonly object[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: object
    readonly schemas: Readonly<Record<string, JsonSchema>>
  }
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, unknown>> }
  readonly security?: readonly object[]
}

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

const DESCRIPTION = `Rules, keys and live metrics of a Sluice service.

A request that changes the rules must name in \`If-Match\` the \`etag\` of the rules that the change is based on. Without it the
answer is 428; if somebody else has changed the rules meanwhile, it is 412. Errors are problem+json (RFC 9457) with a code.
Send the token as \`Authorization: Bearer …\`. A reader can read, an editor can also change the rules, and an admin can also read
the audit log.`

export function describeApi(routes: readonly Route[], version: string): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}")
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Sluice control plane", version, description: DESCRIPTION },
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { ...ruleSchemas(), Problem: schemaOf(problemBody) },
    },
  }
}

function operationOf(route: Route): Operation {
  const { method, path, role, tag, summary, description, answer, body = route.upload } = route
  const who = role === "anyone" ? "Needs no token." : `Role: ${role}.`
  return {
    operationId: `${method.toLowerCase()}${path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    description: [description, who].filter((text) => text !== undefined).join("\n\n"),
    parameters: parametersOf(route),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: Object.fromEntries(body.types.map((type) => [type, { schema: plain(body.schema) }])),
          },
        }),
    responses: {
      [answer.status ?? 200]: { description: answer.description, ...contentOf(answer) },
      default: {
        description: "A problem.",
        content: { "application/problem+json": { schema: ref("Problem") } },
      },
    },
    ...(role === "anyone" ? { security: [] } : {}),
  }
}

function contentOf({ schema, types = ["application/json"] }: Route["answer"]): object {
  if (schema === undefined) return {}
  const described = schema instanceof z.ZodType ? schemaOf(schema) : schema
  return { content: Object.fromEntries(types.map((type) => [type, { schema: described }])) }
}

function parametersOf({ path, query, edits }: Route): Parameter[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: String(name),
    in: "path" as const,
    required: true,
    schema: { type: "string" },
  }))
  const ifMatch: Parameter = {
    name: "If-Match",
    in: "header",
    required: true,
    description: "The etag of the rules that the change is based on.",
    schema: { type: "string" },
  }
  return [...inPath, ...queryParameters(query), ...(edits ? [ifMatch] : [])]
}

function queryParameters(query: z.ZodType | undefined): Parameter[] {
  if (query === undefined) return []
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(typeof description === "string" ? { description } : {}),
    schema,
  }))
}

function schemaOf(schema: z.ZodType): JsonSchema {
  return plain(z.toJSONSchema(schema, { io: "input" }) as JsonSchema)
}

/** Removes `$schema`: the whole description has one dialect. */
function plain({ $schema: _, ...schema }: JsonSchema): JsonSchema {
  return schema
}

/** The rule language, with its definitions moved to where OpenAPI keeps them. */
function ruleSchemas(): Record<string, JsonSchema> {
  const { definitions, ...set } = ruleSetJsonSchema()
  const parts = { ...(definitions as Record<string, JsonSchema>), RuleSet: plain(set) }
  const schemas = JSON.parse(JSON.stringify(parts).replaceAll("#/definitions/", "#/components/schemas/"))
  return { ...schemas, Client: { type: "string", examples: ["user:42", "ip:10.0.0.0/8"] } }
}
