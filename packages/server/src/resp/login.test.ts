import { ManualClock } from "sluice/testing"
import { describe, expect, it } from "vitest"
import { Login } from "./login.js"

describe("logging in", () => {
  it("accepts the password of the only user", () => {
    const login = new Login("secret")
    expect(login.isRequired).toBe(true)
    expect(login.try("10.0.0.1", "default", "secret")).toEqual({ ok: true })
    expect(login.try("10.0.0.1", "root", "secret")).toEqual({ ok: false })
    for (const wrong of ["", "Secret", "secret ", "secre"])
      expect(login.try("10.0.0.1", "default", wrong)).toEqual({ ok: false })
  })

  it("accepts any password when none is configured", () => {
    const login = new Login(undefined)
    expect(login.isRequired).toBe(false)
    expect(login.try("10.0.0.1", "default", "anything")).toEqual({ ok: true })
    expect(login.try("10.0.0.1", "root", "anything")).toEqual({ ok: false })
  })

  it("refuses even the right password after ten wrong ones, until the wait it names is over", () => {
    const clock = new ManualClock()
    const login = new Login("secret", clock)
    for (let n = 0; n < 10; n++) expect(login.try("10.0.0.1", "default", "guess")).toEqual({ ok: false })
    expect(login.try("10.0.0.1", "default", "secret")).toEqual({ ok: false, waitMs: 6_000 })
    expect(login.try("10.0.0.2", "default", "secret")).toEqual({ ok: true })
    clock.advance(5_999)
    expect(login.try("10.0.0.1", "default", "secret")).toEqual({ ok: false, waitMs: 1 })
    clock.advance(1)
    expect(login.try("10.0.0.1", "default", "secret")).toEqual({ ok: true })
  })

  it("counts the addresses of one IPv6 network together", () => {
    const login = new Login("secret", new ManualClock())
    for (let n = 0; n < 10; n++) login.try(`2001:db8::${n + 1}`, "default", "guess")
    expect(login.try("2001:db8::ffff", "default", "secret").ok).toBe(false)
    expect(login.try("2001:db8:0:1::1", "default", "secret").ok).toBe(true)
  })

  it("does not count right passwords", () => {
    const login = new Login("secret", new ManualClock())
    for (let n = 0; n < 50; n++) expect(login.try("10.0.0.1", "default", "secret").ok).toBe(true)
  })
})
