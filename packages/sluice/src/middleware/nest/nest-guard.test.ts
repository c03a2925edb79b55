import type { ExecutionContext } from "@nestjs/common"
import "reflect-metadata"
import { describe, expect, it } from "vitest"
import { RateLimitException, RateLimitGuard } from "./nest-guard.js"
import { NestLimits } from "./nest-limits.js"

describe("a call of nest's that is not HTTP", () => {
  it("is not limited unless a subclass returns its request", async () => {
    class Gateway {
      message(): void {}
    }
    const call = (): ExecutionContext =>
      ({
        getType: () => "ws",
        getClass: () => Gateway,
        getHandler: () => Gateway.prototype.message,
      }) as unknown as ExecutionContext
    const limits = new NestLimits({ limit: 1, window: "1h" })
    const guard = new RateLimitGuard(limits)
    expect([guard.canActivate(call()), guard.canActivate(call())]).toEqual([true, true])
    class SocketGuard extends RateLimitGuard {
      protected override getRequest(): object {
        return { headers: {}, socket: { remoteAddress: "203.0.113.1" }, raw: {} }
      }
    }
    const sockets = new SocketGuard(limits)
    expect(sockets.canActivate(call())).toBe(true)
    expect(() => sockets.canActivate(call())).toThrow(RateLimitException)
  })
})
