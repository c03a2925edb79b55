import { describe, expect, it } from "vitest"
import { onCore, parseCoreList } from "./cores.mjs"

describe("cores", () => {
  it("reads the kernel's list of cores", () => {
    expect(parseCoreList("0-3,8")).toEqual([0, 1, 2, 3, 8])
    expect(parseCoreList("5")).toEqual([5])
    expect(parseCoreList("")).toEqual([])
  })

  it("starts a program as it is when there is no core for it", () => {
    expect(onCore(undefined, "redis-server", ["--port", "1"])).toEqual(["redis-server", ["--port", "1"]])
    expect(onCore(1, "redis-server", [])).toEqual(["taskset", ["-c", "1", "redis-server"]])
  })
})
