// The API description as a page: HTML without scripts and a style sheet of its own, because the security policy of the page
// allows nothing inline.

import { escapeHtml } from "../../http/escape-html.js"
import type { OpenApi, Operation } from "./openapi.js"

export function docsPage(api: OpenApi): string {
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = api.tags.map(({ name }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return `<section id="${escapeHtml(name)}">
<h2>${escapeHtml(name)}</h2>
${own.map(({ path, method, operation }) => operationHtml(path, method, operation)).join("\n")}
</section>`
  })
  const links = api.tags.map(({ name }) => `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(api.info.title)}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header>
<h1>${escapeHtml(api.info.title)} <small>${escapeHtml(api.info.version)}</small></h1>
${paragraphs(api.info.description)}
<nav>${links.join(" ")} <a href="/openapi.json">openapi.json</a></nav>
</header>
<main>
${sections.join("\n")}
</main>
</body>
</html>
`
}

function operationHtml(path: string, method: string, operation: Operation): string {
  const { parameters, requestBody, responses } = operation
  const rows = parameters.map(
    ({ name, in: place, required, description = "" }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}${required ? ", required" : ""}</td><td>${inline(description)}</td></tr>`,
  )
  const types = Object.keys(requestBody?.content ?? {}).map((type) => `<code>${escapeHtml(type)}</code>`)
  const [[status, answer] = ["", { description: "" }]] = Object.entries(responses)
  return `<article id="${escapeHtml(operation.operationId)}">
<h3><span class="${method}">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code></h3>
<p><strong>${escapeHtml(operation.summary)}.</strong></p>
${paragraphs(operation.description)}
${rows.length === 0 ? "" : `<table><tbody>${rows.join("")}</tbody></table>`}
${types.length === 0 ? "" : `<p>Body: ${types.join(", ")}</p>`}
<p>Answer: ${escapeHtml(status)}. ${inline(answer.description)}</p>
</article>`
}

function paragraphs(text: string): string {
  return text
    .split("\n\n")
    .map((part) => `<p>${inline(part)}</p>`)
    .join("\n")
}

/** Text in which backquotes mark code. */
function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, "<code>$1</code>")
}

export const DOCS_STYLE = `:root { color-scheme: light dark; --line: #8884; --accent: #0a6cba; }
@media (prefers-color-scheme: dark) { :root { --accent: #6cb8f0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 small { font-size: 50%; font-weight: normal; opacity: 0.7; }
nav { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; }
a { color: var(--accent); }
article { border-top: 1px solid var(--line); padding: 0.5rem 0; overflow-wrap: anywhere; }
h3 span { display: inline-block; min-width: 4.5rem; font-size: 80%; color: var(--accent); }
h3 span.delete { color: #c5372c; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: 0.2rem 0.75rem 0.2rem 0; vertical-align: top; }
code { font: 90% ui-monospace, monospace; }
`
