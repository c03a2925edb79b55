import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { closePages, openPage, type Page, picture, violations } from "./browser.js"
import { buildPage, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

const DIST = fileURLToPath(new URL("../../packages/dashboard/dist/", import.meta.url))
const READER = { name: "ann", role: "reader", token: "a-token-for-reading" } as const
const EDITOR = { name: "bob", role: "editor", token: "a-token-for-editing" } as const

const servers: TestService[] = []

async function server(...options: Parameters<typeof startTestService>): Promise<TestService> {
  const started = await startTestService(...options)
  servers.push(started)
  return started
}

beforeAll(buildPage, 120_000)
afterEach(async () => {
  await closePages()
  await Promise.all(servers.splice(0).map((started) => started.close()))
})

async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name })

describe("the page as it is built", () => {
  it("has less than 150 KB, gzipped, without the YAML editor, which has less than 150 KB as well", () => {
    const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    const isEditor = ({ name }: { readonly name: string }) => name.startsWith("code-mirror-")
    const sizeOf = (some: typeof files) =>
      some
        .map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name))).length)
        .reduce((sum, size) => sum + size, 0)
    expect(files.filter(isEditor)).toHaveLength(1)
    expect(sizeOf(files.filter((file) => !isEditor(file)))).toBeLessThan(150 * 1_024)
    expect(sizeOf(files.filter(isEditor))).toBeLessThan(150 * 1_024)
  })

  it("has nothing inline, and no address of another host", () => {
    const html = readFileSync(join(DIST, "index.html"), "utf8")
    expect(html).not.toMatch(/<style|style=|javascript:|\son\w+=|https?:/)
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/)
  })
})

describe("a service without tokens", () => {
  it("shows the page without a sign-in, with live events", async () => {
    const { url } = await server()
    const { page, errors } = await openPage(url)
    await heading(page, "Overview").waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    await page.getByText("this machine").waitFor()
    expect(errors).toEqual([])
  })

  it("has links to every page, and the way back works", async () => {
    const { url } = await server()
    const { page, errors } = await openPage(url)
    for (const name of ["Rules", "Try it", "Clients", "Playground", "Replay"]) {
      await page.getByRole("navigation").getByRole("link", { name }).click()
      await heading(page, name).waitFor()
      await expect.poll(() => page.title()).toBe(`${name} · Sluice`)
    }
    await page.goBack()
    await heading(page, "Playground").waitFor()
    expect(errors).toEqual([])
  })

  it("has a first stop for the keyboard that skips to the content", async () => {
    const { url } = await server()
    const { page } = await openPage(url)
    await heading(page, "Overview").waitFor()
    await page.keyboard.press("Tab")
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content")
    await page.keyboard.press("Enter")
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main")
  })
})

describe("sign-in", () => {
  const withTokens = () => server({ config: { control: { tokens: [READER, EDITOR] } } })

  it("is required if there are tokens, refuses a wrong token, and shows who is signed in", async () => {
    const { url } = await withTokens()
    const { page, errors } = await openPage(url)
    await heading(page, "Sign in to Sluice").waitFor()
    expect(await violations(page)).toEqual([])
    await page.getByText("it prints the file that holds its token", { exact: false }).waitFor()
    await picture(page, "sign-in")
    await signIn(page, "not-a-known-token")
    await page.getByText("The service does not accept this token.").waitFor()
    await signIn(page, EDITOR.token)
    await heading(page, "Overview").waitFor()
    await page.getByText("bob", { exact: true }).waitFor()
    await page.getByText("editor", { exact: true }).waitFor()
    expect(errors).toEqual([])
  })

  it("survives a reload of the tab, and ends with signing out", async () => {
    const { url } = await withTokens()
    const { page } = await openPage(url)
    await signIn(page, READER.token)
    await heading(page, "Overview").waitFor()
    await page.reload()
    await heading(page, "Overview").waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await heading(page, "Sign in to Sluice").waitFor()
    await page.reload()
    await heading(page, "Sign in to Sluice").waitFor()
  })

  it("takes the token from a link of npm start, and removes it from the address", async () => {
    const { url } = await withTokens()
    const { page } = await openPage(`${url}/#token=${EDITOR.token}`)
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.getByText("bob").first().waitFor()
    expect(page.url()).toBe(`${url}/`)
    // The same in a tab that already shows the page, which does not reload then.
    await page.evaluate((hash) => {
      location.hash = hash
    }, `#token=${READER.token}`)
    await page.getByText("ann").first().waitFor()
    expect(page.url()).toBe(`${url}/`)
  })

  it("keeps the token out of the address and out of permanent storage", async () => {
    const { url } = await withTokens()
    const { page } = await openPage(url)
    await signIn(page, READER.token)
    await heading(page, "Overview").waitFor()
    expect(page.url()).not.toContain(READER.token)
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie)).not.toContain(
      READER.token,
    )
  })

  it("offers a reader only what a reader is allowed to do", async () => {
    const started = await withTokens()
    await started.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 8)
    const { page } = await openPage(started.url)
    await signIn(page, READER.token)
    await heading(page, "Overview").waitFor()
    expect(await page.getByRole("button", { name: "Send sample traffic" }).count()).toBe(0)
    await page.goto(`${started.url}/#/clients/login/ip%3A192.0.2.1`)
    await page.getByText("Your token can view this page but not change anything.").waitFor()
    expect(await page.getByRole("button", { name: "Block" }).count()).toBe(0)
  })

  it("tells that an address sent too many wrong tokens", async () => {
    const { url } = await withTokens()
    for (let i = 0; i < 10; i++)
      await fetch(`${url}/session`, { headers: { authorization: `Bearer wrong-token-number-${i}` } })
    const { page } = await openPage(url)
    await signIn(page, READER.token)
    await page.getByText("Too many wrong tokens came from this address.", { exact: false }).waitFor()
  })
})

describe("a service that goes away", () => {
  it("is reported as lost, and is live again when it is back", async () => {
    const started = await server()
    const { page } = await openPage(started.url)
    await page.getByText("Live", { exact: true }).waitFor()
    // Each page of the dashboard is loaded when it is first shown.
    await heading(page, "Overview").waitFor()
    await started.stop()
    await page.getByRole("alert").getByText("The service is not reachable.", { exact: false }).waitFor()
    await page.getByText("Connection lost", { exact: true }).waitFor()
    await picture(page, "lost")
    expect(await violations(page)).toEqual([])
    await started.start()
    await page.getByText("Live", { exact: true }).waitFor()
    await eventually(async () => (await page.getByText("Connection lost").count()) === 0)
    // The page shows new requests again. Several, because the first ones may come before the page has reconnected.
    await eventually(
      async () => {
        await started.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 1)
        return (await page.getByText("Requests per second").count()) > 0
      },
      { within: 20_000 },
    )
  })

  it("can be tried again from the page that could not reach it", async () => {
    const started = await server()
    const { page } = await openPage(started.url)
    await heading(page, "Overview").waitFor()
    // The browser has the page, but the service does not answer.
    await page.route("**/session", (route) => route.abort())
    await page.reload()
    await page.getByText("The service does not answer.").waitFor()
    await page.unroute("**/session")
    await page.getByRole("button", { name: "Try again" }).click()
    await heading(page, "Overview").waitFor()
  })
})

describe("language and theme", () => {
  it("follow the language of the browser until another one is chosen", async () => {
    const { url } = await server()
    const { page, errors } = await openPage(url, { language: "zh-CN" })
    await heading(page, "概览").waitFor()
    await expect.poll(() => page.evaluate(() => document.documentElement.lang)).toBe("zh-Hans")
    await page.getByLabel("语言").selectOption("en")
    await heading(page, "Overview").waitFor()
    await page.reload()
    await heading(page, "Overview").waitFor()
    expect(errors).toEqual([])
  })

  it("follow the theme of the system until another one is chosen", async () => {
    const { url } = await server()
    const { page } = await openPage(url, { theme: "dark" })
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    await heading(page, "Overview").waitFor()
    const dark = await background()
    await page.getByRole("button", { name: "Theme: System" }).click()
    await page.getByRole("button", { name: "Theme: Light" }).waitFor()
    await expect.poll(background).not.toBe(dark)
    await page.reload()
    await page.getByRole("button", { name: "Theme: Light" }).click()
    await page.getByRole("button", { name: "Theme: Dark" }).waitFor()
    await expect.poll(background).toBe(dark)
  })
})
