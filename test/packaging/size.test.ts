import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { type OutputChunk, rolldown } from "rolldown"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Packed, packSluice } from "./packed.js"

/**
 * 22 KB, of which about 2 KB are the texts that name the fix of a common mistake. What a synchronous check may need cannot load
 * later: the calendar of `window: "day"` takes 1.2 KB, penalties 0.8 KB, limits with leases 0.7 KB, and holds the rest of what is
 * above 18 KB. The code that takes leases, waits or acquires is loaded with the first call that needs it.
 */
const maxGzippedBytes = 22 * 1024

let packed: Packed

beforeAll(() => {
  packed = packSluice()
}, 60_000)

afterAll(() => packed?.remove())

/** What a bundler makes of one line of code, minified: the chunk that is loaded at once, and those it loads later. */
async function bundle(code: string): Promise<OutputChunk[]> {
  const entry = join(packed.folder, "entry.mjs")
  writeFileSync(entry, code)
  // Neutral: the bundler assumes no platform, so every import of Node shows.
  const build = await rolldown({ input: entry, platform: "neutral", external: /^node:/ })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  return output.filter((file) => file.type === "chunk")
}

it("costs a page that imports createLimiter less than 22 KB, minified and gzipped", async () => {
  const chunks = await bundle('export { createLimiter } from "sluice"')
  const atOnce = staticChunks(chunks)
  const code = atOnce.map((chunk) => chunk.code).join("")
  const bytes = gzipSync(code, { level: 9 }).length
  process.stdout.write(
    `createLimiter: ${code.length} bytes minified, ${bytes} gzipped (limit ${maxGzippedBytes})\n`,
  )
  expect(bytes).toBeLessThan(maxGzippedBytes)
})

it("imports nothing of Node before it is asked to", async () => {
  const chunks = await bundle('export { createLimiter } from "sluice"')
  const names = new Set(chunks.map((chunk) => chunk.fileName))
  const outside = staticChunks(chunks).flatMap((chunk) => chunk.imports.filter((name) => !names.has(name)))
  expect(outside).toEqual([])
})

it("leaves nothing behind when nothing of it is used", async () => {
  const [chunk] = await bundle('import { createLimiter } from "sluice"')
  expect(chunk?.code.trim()).toBe("")
})

/** The entry and everything it imports statically. */
function staticChunks(chunks: OutputChunk[]): OutputChunk[] {
  const loaded = new Set(chunks.filter((chunk) => chunk.isEntry))
  for (const chunk of loaded) {
    for (const other of chunks) if (chunk.imports.includes(other.fileName)) loaded.add(other)
  }
  return [...loaded]
}
