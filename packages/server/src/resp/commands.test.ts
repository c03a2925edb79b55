import { describe, expect, it } from "vitest"
import { encode, start } from "./started.test-support.js"

const NOAUTH = "-NOAUTH Authentication required.\r\n"
const WRONGPASS = "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

/** The reply to one command on a connection of its own, as bytes. */
async function replyTo(...args: readonly string[]): Promise<string> {
  const { open } = await start()
  const client = await open()
  client.send(encode(...args) + encode("QUIT"))
  const said = await client.last()
  expect(said.endsWith("+OK\r\n")).toBe(true)
  return said.slice(0, -"+OK\r\n".length)
}

describe("a command is answered as Redis does", () => {
  it.each([
    [["PING"], "+PONG\r\n"],
    [["ping", "hi"], "$2\r\nhi\r\n"],
    [["PING", "a", "b"], "-ERR wrong number of arguments for 'ping' command\r\n"],
    [["ECHO", "\xff\0\r\n"], "$4\r\n\xff\0\r\n\r\n"],
    [["ECHO"], "-ERR wrong number of arguments for 'echo' command\r\n"],
    [["SELECT", "15"], "+OK\r\n"],
    [["SELECT", "16"], "-ERR DB index is out of range\r\n"],
    [["SELECT", "one"], "-ERR value is not an integer or out of range\r\n"],
    [["CLIENT", "SETNAME", "web"], "+OK\r\n"],
    [
      ["CLIENT", "SETNAME", "a b"],
      "-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
    ],
    [["CLIENT", "SETINFO", "LIB-NAME", "ioredis"], "+OK\r\n"],
    [["CLIENT", "NO-EVICT", "on"], "+OK\r\n"],
    [["CLIENT", "NO-TOUCH", "on"], "+OK\r\n"],
    [["CLIENT", "GETNAME"], "$-1\r\n"],
    [["CLIENT", "ID"], ":1\r\n"],
    [["CLIENT", "ID", "x"], "-ERR wrong number of arguments for 'client|id' command\r\n"],
    [["CLIENT", "KILL", "x"], "-ERR unknown subcommand 'KILL'. Try CLIENT HELP.\r\n"],
    [["CLIENT", "constructor"], "-ERR unknown subcommand 'constructor'. Try CLIENT HELP.\r\n"],
    [["CONFIG", "GET", "save"], "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"],
    [["CONFIG", "GET", "appendonly", "nothing"], "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"],
    [["CONFIG", "GET", "*"], "*0\r\n"],
    [["CONFIG", "GET"], "-ERR wrong number of arguments for 'config|get' command\r\n"],
    [["CONFIG", "SET", "save", ""], "-ERR unknown subcommand 'SET'. Try CONFIG HELP.\r\n"],
    [["COMMAND", "COUNT"], ":13\r\n"],
    [
      ["COMMAND", "INFO", "cl.throttle", "get"],
      "*2\r\n*10\r\n$11\r\ncl.throttle\r\n:-5\r\n*2\r\n+write\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*2\r\n+@write\r\n+@fast\r\n*0\r\n" +
        "*1\r\n*6\r\n$5\r\nflags\r\n*3\r\n+RW\r\n+access\r\n+update\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n" +
        "$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n$-1\r\n",
    ],
    [["COMMAND", "NOTHING"], "-ERR unknown subcommand 'NOTHING'. Try COMMAND HELP.\r\n"],
    [
      ["AUTH", "x"],
      "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n",
    ],
    [["AUTH", "default", "x"], "+OK\r\n"],
    [["AUTH", "root", "x"], WRONGPASS],
    [["AUTH", "a", "b", "c"], "-ERR syntax error\r\n"],
    [["HELLO", "4"], "-NOPROTO unsupported protocol version\r\n"],
    [["HELLO", "x"], "-ERR Protocol version is not an integer or out of range\r\n"],
    [["HELLO", "2", "SETNAME"], "-ERR Syntax error in HELLO option 'SETNAME'\r\n"],
    [["HELLO", "2", "AUTH", "default"], "-ERR Syntax error in HELLO option 'AUTH'\r\n"],
    [["RESET"], "+RESET\r\n"],
    [["GET", "a", "b"], "-ERR unknown command 'GET', with args beginning with: 'a' 'b' \r\n"],
    [["NO\r\nPE"], "-ERR unknown command 'NO  PE', with args beginning with: \r\n"],
    [[""], "-ERR unknown command '', with args beginning with: \r\n"],
  ])("%j: %j", async (args, reply) => {
    expect(await replyTo(...args)).toBe(reply)
  })

  it("HELLO replies the same in both protocols, and selects one", async () => {
    const fields = (head: string, protocol: number) =>
      `${head}\r\n$6\r\nserver\r\n$6\r\nsluice\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:${protocol}\r\n$2\r\nid\r\n:1\r\n` +
      "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
    const { open } = await start()
    const client = await open()
    client.send(encode("HELLO", 2))
    await client.gets(fields("*14", 2))
    client.send(encode("HELLO", 3, "SETNAME", "web"))
    await client.gets(fields("%7", 3))
    client.send(encode("HELLO"))
    await client.gets(fields("%7", 3))
    client.send(encode("CLIENT", "GETNAME") + encode("CONFIG", "GET", "save") + encode("CONFIG", "GET", "x"))
    await client.gets("$3\r\nweb\r\n%1\r\n$4\r\nsave\r\n$0\r\n\r\n%0\r\n")
    client.send(encode("RESET") + encode("CLIENT", "GETNAME"))
    await client.gets("+RESET\r\n$-1\r\n")
  })

  it("INFO reports loading:0, which clients wait for", async () => {
    const { connect } = await start()
    const client = await connect()
    const info = await client.command("INFO")
    expect(info).toContain("\r\nloading:0\r\n")
    expect(info).toContain("\r\nconnected_clients:1\r\n")
  })

  it("COMMAND lists every command with its summary", async () => {
    const { connect } = await start()
    const client = await connect()
    const names = (await client.command("COMMAND", "LIST")) as string[]
    expect(names).toContain("cl.throttle")
    expect(await client.command("COMMAND")).toHaveLength(names.length)
    expect(await client.command("COMMAND", "DOCS")).toHaveLength(names.length * 2)
    expect(await client.command("COMMAND", "DOCS", "ping", "nothing")).toEqual([
      "ping",
      ["summary", "Replies PONG, or the message: [message]", "group", "connection"],
    ])
  })
})

describe("with a password", () => {
  it("is required before other commands", async () => {
    const { open } = await start({ password: "secret" })
    const client = await open()
    for (const command of [
      ["PING"],
      ["CL.THROTTLE", "k", "1", "1", "60"],
      ["SLUICE.CHECK", "api", "k"],
      ["GET", "k"],
    ]) {
      client.send(encode(...command))
      await client.gets(NOAUTH)
    }
    client.send(encode("AUTH", "wrong") + encode("AUTH", "root", "secret") + encode("PING"))
    await client.gets(WRONGPASS + WRONGPASS + NOAUTH)
    client.send(encode("AUTH", "secret") + encode("PING"))
    await client.gets("+OK\r\n+PONG\r\n")
    client.send(encode("RESET") + encode("PING"))
    await client.gets(`+RESET\r\n${NOAUTH}`)
  })

  it("may be part of HELLO, which fails without it", async () => {
    const { open } = await start({ password: "secret" })
    const client = await open()
    client.send(encode("HELLO", 3))
    await client.gets(
      "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO ",
    )
    client.received = ""
    client.send(encode("HELLO", 3, "AUTH", "default", "wrong") + encode("PING"))
    await client.gets(WRONGPASS + NOAUTH)
    client.send(encode("HELLO", 3, "AUTH", "default", "secret"))
    await client.gets("%7\r\n")
  })

  it("has smaller limits for commands before it", async () => {
    const { open } = await start({ password: "secret" })
    const [many, long] = [await open(), await open()]
    many.send("*11\r\n")
    expect(await many.last()).toBe("-ERR Protocol error: invalid multibulk length\r\n")
    long.send("*2\r\n$4\r\nAUTH\r\n$16385\r\n")
    expect(await long.last()).toBe("-ERR Protocol error: invalid bulk length\r\n")
  })

  it("makes an address that guesses wait", async () => {
    const { open, core } = await start({ password: "secret" })
    const client = await open()
    client.send(encode("AUTH", "guess").repeat(10))
    await client.gets(WRONGPASS.repeat(10))
    client.send(encode("AUTH", "secret"))
    await client.gets("-ERR too many wrong passwords from this address, try again in 6 s\r\n")
    expect(core.decided).toEqual([])
  })
})

describe("SLUICE.CHECK", () => {
  it("checks a rule by its id, with the reply of CL.THROTTLE", async () => {
    const { connect, core } = await start()
    const client = await connect()
    expect(await client.command("SLUICE.CHECK", "api", "user:1")).toEqual([0, 2, 1, -1, 30])
    expect(await client.command("SLUICE.CHECK", "api", "user:1", 0)).toEqual([0, 2, 1, -1, 30])
    expect(await client.command("SLUICE.CHECK", "api", "user:1", 1)).toEqual([0, 2, 0, -1, 60])
    expect(await client.command("SLUICE.CHECK", "api", "user:1")).toEqual([1, 2, 0, 30, 60])
    expect(await client.command("SLUICE.CHECK", "api", "user:1", 3)).toEqual([1, 2, 0, -1, 60])
    expect(core.decided.map(({ protocol, decision }) => [protocol, decision.allowed])).toEqual([
      ["resp", true],
      ["resp", true],
      ["resp", true],
      ["resp", false],
      ["resp", false],
    ])
    expect((await core.engine.checkKey("api", "user:1", { cost: 0 })).remaining).toBe(0)
  })

  it("refuses a key that is not UTF-8", async () => {
    const { connect } = await start()
    const client = await connect({ encoding: "latin1" })
    await expect(client.command("SLUICE.CHECK", "api", "\xff")).rejects.toThrow("ERR the key must be UTF-8")
  })

  it("replies -1 when nothing limits", async () => {
    const { connect } = await start()
    const client = await connect()
    expect(await client.command("SLUICE.CHECK", "free", "user:1")).toEqual([0, -1, -1, -1, 0])
  })

  it.each([
    [["nobody", "k"], /^RULE_UNKNOWN rule: must be the id of a rule, got "nobody"$/],
    [["api", ""], /^KEY_INVALID /],
    [["api", "k", "-1"], /^COST_INVALID /],
    [["api", "k", "x"], /^COST_INVALID /],
    [["api", "k", "1", "2"], /^ERR usage: sluice.check/],
    [["api"], /^ERR wrong number of arguments for 'sluice.check' command$/],
  ])("reports the mistake in %j", async (args, message) => {
    const { connect } = await start()
    const client = await connect()
    await expect(client.command("SLUICE.CHECK", ...args)).rejects.toThrow(message)
    expect(await client.command("PING")).toBe("PONG")
  })
})
