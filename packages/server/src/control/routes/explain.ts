// What would become of a request, and why: for people who look, not for proxies that ask.

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
  description: "As POST /v1/explain of the data plane takes it. Every field may be left out.",
  additionalProperties: false,
  properties: {
    method: text,
    host: text,
    path: { ...text, description: "With its query, if it has one." },
    ip: text,
    user: text,
    apiKey: { ...text, description: "In clear; it is hashed at once." },
    tier: text,
    client: text,
    domain: text,
    route: text,
    headers: { type: "object", additionalProperties: text },
    descriptors: { type: "array", items: { type: "object" } },
    cost: { type: "integer", minimum: 0 },
    at: { type: "number", description: "Milliseconds since 1970." },
  },
}

const EXPLANATION = {
  type: "object",
  description: "Every rule and why it has a say or not, the decision, and what the client would be answered.",
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
        body: { ...text, description: "Of a denial." },
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
      summary: "What would become of a request, and why",
      description: "Charges nothing, and counts as no decision.",
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

/** What the client would see of it. */
function responseOf({ decision }: Explanation): object {
  const list = decisionHeaders(decision)
  const headers = list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1] as string]] : []))
  if (decision.allowed) return { status: 200, headers }
  const { status, contentType, body } = deniedAnswer({}, undefined, decision)
  return { status, headers: [...headers, ["content-type", contentType]], body }
}
