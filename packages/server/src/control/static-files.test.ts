import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { newToken } from "../http/tokens.js"
import { startControl, type TestControl } from "./control-plane.test-support.js"
import { StaticFiles } from "./static-files.js"

let folder: string
let control: TestControl

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-dashboard-"))
  const dashboard = join(folder, "dashboard")
  await mkdir(join(dashboard, "assets"), { recursive: true })
  await writeFile(join(dashboard, "index.html"), "<!doctype html><title>Sluice</title>")
  await writeFile(join(dashboard, "assets", "index-BkT3x9_a.js"), "export {}")
  await writeFile(join(dashboard, "favicon.svg"), "<svg/>")
  await writeFile(join(dashboard, ".env"), "SECRET=1")
  await writeFile(join(folder, "secret.txt"), "secret")
  await symlink(join(folder, "secret.txt"), join(dashboard, "link.txt"))
  control = await startControl({ dashboard, tokens: [{ name: "ada", role: "admin", token: newToken() }] })
})

afterEach(async () => {
  expect(control.errors).toEqual([])
  await control.close()
  await rm(folder, { recursive: true, force: true })
})

/** A path as it is: fetch would tidy it up. */
function askRaw(path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: control.port, path }, async (response) =>
      resolve({ status: response.statusCode ?? 0, body: await text(response) }),
    )
      .on("error", reject)
      .end()
  })
}

describe("the dashboard", () => {
  it("is the first page, and needs no token: only its API calls do", async () => {
    const { status, headers, text } = await control.ask("GET", "/")
    expect([status, text]).toEqual([200, "<!doctype html><title>Sluice</title>"])
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    expect(headers.get("content-security-policy")).toContain("default-src 'self'")
  })

  it("lets browsers cache files with a hash in their name for ever, and revalidate others", async () => {
    const hashed = await control.ask("GET", "/assets/index-BkT3x9_a.js")
    expect(hashed.headers.get("cache-control")).toBe("public, max-age=31536000, immutable")
    expect(hashed.headers.get("content-type")).toBe("text/javascript; charset=utf-8")
    const page = await control.ask("GET", "/index.html")
    expect(page.headers.get("cache-control")).toBe("no-cache")
    const etag = String(page.headers.get("etag"))
    expect((await control.ask("GET", "/", { headers: { "if-none-match": etag } })).status).toBe(304)
  })

  it.each([
    "/../secret.txt",
    "/assets/../../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/assets/..%5c..%5csecret.txt",
    "//etc/passwd",
    "/etc/passwd",
    "/link.txt",
    "/.env",
    "/assets",
    "/assets/",
    "/index.html%00.js",
  ])("answers 404 for %s", async (path) => {
    const { status, body } = await askRaw(path)
    expect(status).toBe(404)
    expect(body).not.toContain("secret\n")
    expect(JSON.parse(body).code).toBe("PATH_UNKNOWN")
  })

  it("is compressed for clients that accept it", async () => {
    const ask = (accepted: string) =>
      control.ask("GET", "/assets/index-BkT3x9_a.js", { headers: { "accept-encoding": accepted } })
    const encodings = ["gzip, br", "*", "gzip;q=0", "gzip;q=0.5", "identity"].map(async (accepted) => {
      const { headers, text } = await ask(accepted)
      expect([headers.get("vary"), text]).toEqual(["accept-encoding", "export {}"])
      return headers.get("content-encoding")
    })
    expect(await Promise.all(encodings)).toEqual(["gzip", null, null, "gzip", null])
  })

  it("stays the build of the start when another build replaces it", async () => {
    await rm(join(folder, "dashboard"), { recursive: true })
    expect((await control.ask("GET", "/assets/index-BkT3x9_a.js")).text).toBe("export {}")
    expect((await control.ask("GET", "/")).status).toBe(200)
  })

  it("allows GET and HEAD only", async () => {
    expect((await control.ask("POST", "/index.html")).status).toBe(404)
  })
})

it("refuses a missing folder, and one without a page", () => {
  const refused = expect.objectContaining({ code: "OPTION_TYPE", place: "control.dashboard" })
  expect(() => new StaticFiles(join(folder, "nope"))).toThrow(refused)
  expect(() => new StaticFiles(join(folder, "dashboard", "assets"))).toThrow(refused)
})
