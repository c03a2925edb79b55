import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { closePages, type OpenPage, openPage, type Page } from "./browser.js"
import { buildPage, EXAMPLE_RULES, startTestService, type TestService } from "./test-service.js"

vi.setConfig({ testTimeout: 60_000 })

let server: TestService
beforeAll(() => buildPage(), 60_000)
beforeEach(async () => {
  server = await startTestService({ rules: EXAMPLE_RULES })
})
afterEach(async () => {
  await closePages()
  await server.close()
})

const open = (query = ""): Promise<OpenPage> => openPage(`${server.url}/#/try${query}`)
const verdict = (page: Page) => page.locator(".try-verdict")

describe("Try it", () => {
  it("shows which rules apply, the key and the usage of each limit, and charges nothing", async () => {
    const { page, errors } = await open()
    await page.getByLabel("Method").selectOption("POST")
    await page.getByLabel("Path").fill("/login")
    for (let i = 0; i < 7; i++) await page.getByRole("button", { name: "Explain" }).click()
    await verdict(page).getByText("5 of 5 left in limit 5/15m of rule login").waitFor()
    expect(await verdict(page).getByRole("heading").innerText()).toBe("Allowed")
    const login = page.locator(".try-rule")
    expect(await login.innerText()).toContain("the path matches /login")
    expect(await login.innerText()).toContain("ip:203.0.113.7")
    expect(await login.innerText()).toContain("0 of 5 used")
    await page.getByText('path is "/login", and must be /v1/**').waitFor()
    await page.getByRole("cell", { name: '"login";q=5;w=900' }).waitFor()
    expect(errors).toEqual([])
  })

  it("shows the answer that a denied client gets", async () => {
    await server.check({ method: "POST", path: "/login", ip: "192.0.2.1" }, 5)
    const { page } = await open("?method=POST&path=/login&ip=192.0.2.1")
    await verdict(page).getByText("Limit 5/15m of rule login is used up.").waitFor()
    expect(await verdict(page).innerText()).toMatch(/It can pass in 1[45] min/)
    await page.getByText("Status 429, with these headers:").waitFor()
    await page.getByRole("rowheader", { name: "retry-after" }).waitFor()
    expect(await page.locator(".try-body").innerText()).toContain('"violated-policies"')
  })

  it("tells what a rule in shadow mode would have done", async () => {
    await server.check({ method: "GET", path: "/v1/search", ip: "192.0.2.1" }, 20)
    await server.ask("PATCH", "/rules/api", { mode: "off" })
    await server.check({ method: "GET", path: "/v1/search", ip: "192.0.2.1" }, 20)
    const { page } = await open("?method=GET&path=/v1/search&ip=192.0.2.1")
    await verdict(page).getByText("In shadow mode, search would have denied it.").waitFor()
    await page.getByText("matches, but does not apply").waitFor()
  })

  it("writes the request to the address, but never the API key", async () => {
    const { page } = await open()
    await page.getByLabel("Path").fill("/v1/items?page=2")
    await page.getByLabel("API key").fill("my-secret-key")
    await page.getByRole("button", { name: "Explain" }).click()
    await page.locator(".try-rule").getByText("apiKey:").waitFor()
    expect(page.url()).toContain(encodeURIComponent("/v1/items?page=2"))
    expect(page.url()).not.toContain("secret")
    expect(await page.locator("main").innerText()).not.toContain("my-secret-key")
    await page.reload()
    await page.locator(".try-rule").getByText("ip:203.0.113.7").waitFor()
    expect(await page.getByLabel("API key").inputValue()).toBe("")
  })

  it("explains again when the rules change", async () => {
    const { page } = await open("?method=POST&path=/login")
    await verdict(page).getByText("5 of 5 left").waitFor()
    await page.getByText("Live", { exact: true }).waitFor()
    await server.ask("PATCH", "/rules/login", { limits: [{ limit: 9, window: "1m" }] })
    await verdict(page).getByText("9 of 9 left").waitFor()
  })

  it("reads headers line by line, and reports an invalid header or cost", async () => {
    const { page } = await open()
    await page.getByText("More fields").click()
    await page.getByLabel("Headers").fill("x-plan pro")
    await page.getByRole("button", { name: "Explain" }).click()
    await page.getByRole("alert").getByText("“x-plan pro” is not a header").waitFor()
    await page.getByLabel("Headers").fill("")
    await page.getByLabel("Cost").fill("many")
    await page.getByRole("button", { name: "Explain" }).click()
    await page.getByRole("alert").getByText("cost").waitFor()
  })

  it("tells why a path is refused", async () => {
    const { page } = await open(`?method=GET&path=${encodeURIComponent("/a%252e/b")}`)
    await verdict(page).getByText("The service refuses this path: it is percent-encoded twice.").waitFor()
    expect(await verdict(page).getByRole("heading").innerText()).toBe("Denied")
    expect(await verdict(page).innerText()).not.toContain("costs")
    await page.getByText("Status 400").waitFor()
  })

  it("tells that a request costs more than a limit ever allows", async () => {
    const { page } = await open("?method=POST&path=/login&cost=6")
    await verdict(page).getByText("it costs more than the limit allows at once").waitFor()
  })

  it("tells the longest wait for a place of a limit of concurrency", async () => {
    const calls = { limit: 1, algorithm: "concurrency", hold: "1m" }
    await server.ask("PATCH", "/rules/login", { limits: [calls] })
    await server.check({ method: "POST", path: "/login", ip: "192.0.2.1" })
    const { page } = await open("?method=POST&path=/login&ip=192.0.2.1")
    await verdict(page).getByText("It can pass when a place is free, at the latest in").waitFor()
    await page.locator(".try-limit").getByText("a place is free at the latest in").waitFor()
  })

  it("has examples to start with", async () => {
    const { page } = await open()
    await page.getByRole("link", { name: "POST /login" }).click()
    await verdict(page).waitFor()
    expect(await page.getByLabel("Path").inputValue()).toBe("/login")
  })
})
