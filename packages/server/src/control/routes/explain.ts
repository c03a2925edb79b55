// Explains what would happen to a request, for people. It charges nothing.

import { deniedAnswer } from "sluice/internal"
import type { Explanation } from "sluice/rules"
import { explanationJson } from "../../check-api/decision-json.js"
import { type AskedRequest, readRequest } from "../../check-api/question.js"
import type { Core } from "../../core.js"
import { decisionHeaders } from "../../http/answer.js"
import { partBody } from "../api/body.js"
import { type Route, route } from "../api/route.js"

const text = { type: "string" }

const REQUEST = {
  type: "object",
  description: "The same body as POST /v1/explain of the check API. Every field is optional.",
  additionalProperties: false,
  properties: {
    method: text,
    host: text,
    path: { ...text, description: "The path with its query, if any." },
    ip: text,
    user: text,
    apiKey: { ...text, description: "The key in clear text. The service hashes it at once." },
    tier: text,
    client: text,
    domain: text,
    route: text,
    headers: { type: "object", additionalProperties: text },
    descriptors: { type: "array", items: { type: "object" } },
    body: { type: "object", description: "The JSON body, for rules that charge by it." },
    cost: { type: "integer", minimum: 0 },
    at: { type: "number", description: "Milliseconds since 1970." },
  },
}

const EXPLANATION = {
  type: "object",
  description:
    "Every rule with the reason why it applies or not, the decision, and the answer that the client would get.",
  properties: {
    revision: { type: "integer" },
    request: { type: "object", description: "As the rules see it." },
    rules: { type: "array", items: { type: "object" } },
    verdict: { ...text, description: "The decision in a sentence." },
    decision: { type: "object" },
    response: {
      type: "object",
      properties: {
        status: { type: "integer", description: "200 stands for whatever the application answers." },
        headers: { type: "array", items: { type: "array", items: text } },
        body: { ...text, description: "The body of a denial." },
      },
    },
  },
}

export function explainRoutes({ engine }: Core): Route[] {
  return [
    route({
      method: "POST",
      path: "/explain",
      role: "reader",
      tag: "Rules",
      summary: "Explain what would happen to a request",
      description: "It charges nothing and does not count as a decision.",
      body: partBody(REQUEST),
      answer: { description: "Every rule, and the decision.", schema: EXPLANATION },
      async run({ body }) {
        const request: AskedRequest = readRequest({ ...body }, "")
        const explanation = await engine.explain(request, request)
        const json = explanationJson(explanation)
        return {
          type: "application/json",
          content: `${json.slice(0, -1)},"response":${JSON.stringify(responseOf(explanation))}}`,
        }
      },
    }),
  ]
}

/** The answer that the client would get. */
function responseOf({ decision }: Explanation): object {
  const list = decisionHeaders(decision)
  const headers = list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string]] : []))
  if (decision.allowed) return { status: 200, headers }
  const { status, contentType, body } = deniedAnswer({}, decision)
  return { status, headers: [...headers, ["content-type", contentType]], body }
}
