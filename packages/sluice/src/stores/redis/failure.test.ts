import { runInNewContext } from "node:vm"
import { describe, expect, it } from "vitest"
import { StoreFailure } from "../fallback/store-failure.js"
import { failureOf, isNoScript } from "./failure.js"

describe("an error of Redis", () => {
  it.each([
    ["READONLY You can't write against a read only replica.", "readonly"],
    ["LOADING Redis is loading the dataset in memory", "loading"],
    ["MASTERDOWN Link with MASTER is down", "loading"],
    ["CLUSTERDOWN The cluster is down", "cluster-down"],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "cluster-down"],
    ["MOVED 3999 127.0.0.1:6381", "cluster-down"],
    ["ASK 3999 127.0.0.1:6381", "cluster-down"],
    ["CROSSSLOT Keys in request don't hash to the same slot", "cluster-down"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "out-of-memory"],
    ["BUSY Redis is busy running a script.", "busy"],
    ["NOAUTH Authentication required.", "no-auth"],
    ["WRONGPASS invalid username-password pair or user is disabled.", "no-auth"],
    ["NOPERM User app has no permissions to run the 'set' command", "no-permission"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "wrong-type"],
    ["MISCONF Redis is configured to save RDB snapshots", "not-writable"],
    ["NOREPLICAS Not enough good replicas to write.", "not-writable"],
    ["ERR unknown command", "other"],
    ["-OOM command not allowed (the way a script tells it)", "out-of-memory"],
  ])("%j is %s, and nothing was charged", (message, kind) => {
    expect(failureOf(new Error(message))).toMatchObject({ kind, message, ambiguous: false })
  })
})

describe("an error of a connection", () => {
  it.each([
    // As in Jest, where sockets throw errors of another realm than the one that the library runs in.
    runInNewContext('Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })'),
    Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
    Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
    Object.assign(new Error("write EPIPE"), { code: "EPIPE" }),
    new Error("Connection is closed."),
    new Error("Socket closed unexpectedly"),
    new Error("The client is closed"),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    Object.assign(new Error("Reached the max retries per request limit"), {
      name: "MaxRetriesPerRequestError",
    }),
  ])("%s may have come after the charge", (error) => {
    expect(failureOf(error)).toMatchObject({ kind: "connection", ambiguous: true, cause: error })
  })
})

describe("any other error", () => {
  it.each([
    new RangeError("The value is out of range"),
    Object.assign(new RangeError("out of range"), { code: "ERR_OUT_OF_RANGE" }),
    new TypeError("x is not a function"),
    new Error("everything is odd"),
    new Error("NOTBUSY No scripts in execution right now."),
    "a string",
    undefined,
  ])("%s is not treated as an error of the connection", (error) => {
    expect(failureOf(error).kind).toBe("other")
  })

  it("that is already a failure stays unchanged", () => {
    const failure = new StoreFailure("timeout", "no answer", { ambiguous: true })
    expect(failureOf(failure)).toBe(failure)
  })
})

it("only NOSCRIPT is NOSCRIPT", () => {
  expect(isNoScript(new Error("NOSCRIPT No matching script. Please use EVAL."))).toBe(true)
  expect(isNoScript(new Error("ERR NOSCRIPT"))).toBe(false)
  expect(isNoScript("NOSCRIPT")).toBe(false)
})
