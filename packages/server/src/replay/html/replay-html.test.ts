import { describe, expect, it } from "vitest"
import { disordered, traffic, written } from "../log/log-generator.test-support.js"
import { replay } from "../replay.js"
import { replayHtml } from "./replay-html.js"

const rules = (limit: number) => `
version: 1
rules:
  - { id: per-ip, keyBy: ip, limits: [{ limit: ${limit}, window: 1m }] }
  - { id: tried, mode: shadow, keyBy: global, limits: [{ limit: 5, window: 1m }] }
`

async function page(title = "access.log") {
  const log = Buffer.concat([
    written("combined", disordered(traffic(), 20_000)),
    Buffer.from("<script>alert(1)</script>\n"),
  ])
  const report = await replay([log], {
    rules: [
      { name: "tight <b>", ruleSet: rules(3) },
      { name: "loose", ruleSet: rules(30) },
    ],
  })
  return { report, text: replayHtml(report, title) }
}

describe("the page of a replay", () => {
  it("contains no scripts, and loads nothing from other hosts", async () => {
    const { text } = await page('"><img src=x onerror=alert(1)>')
    expect(text).not.toMatch(/<(?:script|img|link|iframe)|<[^>]+\s(?:on\w+|src|href|style)=|url\(|@import/i)
    expect(text).toContain("default-src 'none'")
  })

  it("escapes the texts of the log", async () => {
    const { text } = await page()
    expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;")
    expect(text).toContain("tight &lt;b&gt;")
  })

  it("has the figures of the report, and a chart for each candidate", async () => {
    const { report, text } = await page()
    for (const { denied, hurt } of report.candidates) {
      expect(text).toContain(`>${denied.toLocaleString("en-US")}<`)
      for (const { client } of hurt.most) expect(text).toContain(`<td>${client}</td>`)
    }
    expect(text.match(/<svg /g)).toHaveLength(2)
    expect(text).toContain('class="denied"')
    expect(text).toContain('class="shadow"')
  })
})
