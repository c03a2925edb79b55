import { expect, it } from "vitest"
import { startBed } from "./bed.js"
import { blocksOf } from "./proxy.js"

it("docs/service.md shows what the service really answers", async () => {
  const [rules] = blocksOf("yaml")
  const bed = await startBed(rules ?? "")
  try {
    const examples = blocksOf("http")
    expect(examples.length).toBeGreaterThan(3)
    for (const example of examples) {
      const [, path, body, status, answer] = /^POST (\S+)\n(.+)\n\n(\d+)\n(.+)\n$/.exec(example) ?? []
      const response = await fetch(bed.url + path, { method: "POST", body: body ?? "" })
      expect([example, response.status, await response.text()]).toEqual([example, Number(status), answer])
    }
  } finally {
    await bed.close()
  }
})
