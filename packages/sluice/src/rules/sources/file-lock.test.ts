import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { claimOf, withLock } from "./file-lock.js"

let folder: string
let lock: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-lock-"))
  lock = join(folder, ".rules.yaml.lock")
})

afterEach(() => rmSync(folder, { recursive: true }))

/** What a lock of this process says, which lives. */
async function ownLock(): Promise<string> {
  return await withLock(join(folder, "other"), () => readFileSync(join(folder, "other"), "utf8"))
}

function touch(secondsAgo: number): void {
  const time = Date.now() / 1_000 - secondsAgo
  utimesSync(lock, time, time)
}

/** Whether the lock is still waited for after some time. */
async function isWaitedFor(ms = 900): Promise<boolean> {
  let isThere = false
  const taking = withLock(lock, () => {
    isThere = true
  })
  await new Promise((resolve) => setTimeout(resolve, ms))
  const wasWaited = !isThere
  rmSync(lock, { force: true })
  await taking
  return wasWaited
}

describe("a lock", () => {
  it("names its holder from the start, and leaves no file behind", async () => {
    const said = await withLock(lock, () => readFileSync(lock, "utf8"))
    expect(said).toMatch(new RegExp(`^${process.pid}\\.\\d+@${hostname()} \\d* [0-9a-f-]{36}\\n$`))
    expect(readdirSync(folder)).toEqual([])
  })

  it("is released when the task fails", async () => {
    await expect(withLock(lock, () => Promise.reject(new Error("no")))).rejects.toThrow("no")
    await expect(
      withLock(lock, () => {
        throw new Error("no")
      }),
    ).rejects.toThrow("no")
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([
    ["is empty, after a crash or on a full disk", ""],
    ["was written in half", `${process.ppid}`],
  ])("that %s is broken within a second or so, not after ten", async (_, content) => {
    writeFileSync(lock, content)
    const started = performance.now()
    expect(await withLock(lock, () => "in")).toBe("in")
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(readdirSync(folder)).toEqual([])
  })

  it("is not removed by its former holder once another process holds it", async () => {
    await withLock(lock, () => {
      rmSync(lock)
      writeFileSync(lock, "1.0@elsewhere")
    })
    expect(readFileSync(lock, "utf8")).toBe("1.0@elsewhere")
  })

  it.runIf(process.platform === "linux")("of a process that lives is kept, however old it is", async () => {
    const start = (await ownLock()).split(" ")[1]
    const said = execFileSync("cat", [`/proc/${process.ppid}/stat`], { encoding: "utf8" })
    const parentStart = said.slice(said.lastIndexOf(")") + 2).split(" ")[19]
    expect(start).toMatch(/^\d+$/)
    writeFileSync(lock, `${process.ppid}.0@${hostname()} ${parentStart} x\n`)
    touch(3_600)
    expect(await isWaitedFor()).toBe(true)
  })

  it.runIf(process.platform === "linux")("of a process whose number is another's now is broken", async () => {
    writeFileSync(lock, `${process.ppid}.0@${hostname()} 1 x\n`)
    expect(await isWaitedFor()).toBe(false)
  })

  it("of a container with the same name and number is kept while it is young", async () => {
    writeFileSync(lock, await ownLock())
    expect(await isWaitedFor()).toBe(true)
    writeFileSync(lock, await ownLock())
    // From before this process: then it is one that died.
    touch(3_600)
    expect(await isWaitedFor()).toBe(false)
  })

  it("that a process claimed before it died is broken too", async () => {
    const dead = `${execFileSync(process.execPath, ["-p", "process.pid"]).toString().trim()}.0@${hostname()}`
    writeFileSync(lock, dead)
    writeFileSync(claimOf(lock), `${dead} 1 x\n`)
    expect(await withLock(lock, () => "in")).toBe("in")
    expect(readdirSync(folder)).toEqual([])
  })
})
