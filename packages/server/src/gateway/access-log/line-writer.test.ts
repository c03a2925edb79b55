import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { open } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { LineWriter, splitAtLines, type WriterTrouble } from "./line-writer.js"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-line-writer-"))
  file = join(folder, "access.log")
})

afterEach(() => rmSync(folder, { recursive: true }))

function written(path = file): string {
  return readFileSync(path, "utf8")
}

it("has written everything in order when it is closed", async () => {
  const writer = new LineWriter({ file })
  const lines = Array.from({ length: 10_000 }, (_, i) => `line ${i}, with ünïcode\n`)
  for (const line of lines) writer.write(line)
  await writer.close()
  expect(written()).toBe(lines.join(""))
})

it("writes a lone line soon", async () => {
  const writer = new LineWriter({ file })
  writer.write("alone\n")
  await eventually(() => written() === "alone\n")
  await writer.close()
})

it("appends to an existing file", async () => {
  for (const line of ["first\n", "second\n"]) {
    const writer = new LineWriter({ file })
    writer.write(line)
    await writer.close()
  }
  expect(written()).toBe("first\nsecond\n")
})

it("continues in a new file after a log rotation", async () => {
  const writer = new LineWriter({ file })
  writer.write("before\n")
  await eventually(() => written() === "before\n")
  renameSync(file, `${file}.1`)
  await writer.reopen()
  writer.write("after\n")
  await writer.close()
  expect([written(`${file}.1`), written()]).toEqual(["before\n", "after\n"])
})

it("continues with the old file when the new one cannot be opened", async () => {
  const troubles: WriterTrouble[] = []
  const sub = join(folder, "sub")
  mkdirSync(sub)
  const writer = new LineWriter({
    file: join(sub, "log"),
    onTrouble: (trouble) => void troubles.push(trouble),
  })
  renameSync(sub, `${sub}.1`)
  await writer.reopen()
  writer.write("still\n")
  await writer.close()
  expect(written(join(`${sub}.1`, "log"))).toBe("still\n")
  expect(troubles).toEqual([{ error: expect.stringContaining("must be a writable file: ENOENT") }])
})

it("refuses a file that cannot be written", () => {
  expect(() => new LineWriter({ file: join(folder, "none", "log") })).toThrow(
    /^gateway\.accessLog\.file: must be a writable file: ENOENT.*\[ACCESS_LOG_IO\]$/,
  )
})

it("writes a line that arrived during a write, even if no other follows", async () => {
  spawnSync("mkfifo", [file])
  const reader = await open(file, "r+")
  const writer = new LineWriter({ file })
  // More than a pipe takes at once: this write waits for the reader.
  for (let i = 0; i < 2; i++) writer.write(`${"x".repeat(49_999)}\n`)
  writer.write("last\n")
  // Its time is over, and the first still under way.
  const other = new LineWriter({ file: `${file}.other` })
  other.write("later\n")
  await eventually(() => written(`${file}.other`) === "later\n")
  const bytes = Buffer.alloc(200_000)
  let all = ""
  while (!all.endsWith("last\n")) all += bytes.toString("latin1", 0, (await reader.read(bytes)).bytesRead)
  expect(all).toHaveLength(100_005)
  await Promise.all([writer.close(), other.close()])
  await reader.close()
})

it("drops and reports lines when the reader is too slow", async () => {
  // A pipe that nobody reads takes 64 KiB and then no more.
  spawnSync("mkfifo", [file])
  const reader = await open(file, "r+")
  const troubles: WriterTrouble[] = []
  const writer = new LineWriter({ file, onTrouble: (trouble) => void troubles.push(trouble) })
  const line = `${"x".repeat(65_535)}\n`
  for (let i = 0; i < 400; i++) writer.write(line)
  expect(troubles).toEqual([{ dropped: 1 }])
  // What it holds is the first line, which it is writing, and 16 MiB and a line more.
  const held = 258 * line.length
  const bytes = Buffer.alloc(1_048_576)
  const closed = writer.close()
  for (let read = 0; read < held; ) read += (await reader.read(bytes)).bytesRead
  await closed
  await reader.close()
})

it("splits what workers write to one pipe between lines only", () => {
  const pieces = (text: string) => splitAtLines(Buffer.from(text), 8).map(String)
  expect(pieces("a\nbb\nccc\ndd\n")).toEqual(["a\nbb\n", "ccc\ndd\n"])
  expect(pieces("1234567\n1234567\n")).toEqual(["1234567\n", "1234567\n"])
  expect(pieces("a\n1234567890\nb\n")).toEqual(["a\n", "1234567890\n", "b\n"])
})
