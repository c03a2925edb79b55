// Whatever bytes come, the service stays up, says so in one line or keeps waiting, and others are served meanwhile.

import { expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { encode, type RawClient, start } from "./started.test-support.js"

const INPUTS = 3_000
const AT_ONCE = 50

it("survives 3,000 malformed inputs, and answers other clients meanwhile", async () => {
  const seed = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const random = randomFrom(seed)
  const errors: unknown[] = []
  const { open, core } = await start({ onError: (error) => errors.push(error) })
  const other = await open()
  for (let done = 0; done < INPUTS; done += AT_ONCE) {
    const batch = await Promise.all(Array.from({ length: AT_ONCE }, open))
    for (const client of batch) client.socket.end(malformed(random))
    other.send(encode("PING"))
    await other.gets("+PONG\r\n")
    for (const client of batch) expectReplies(await client.last(), seed)
    for (const client of batch) client.socket.destroy()
  }
  expect(errors).toEqual([])
  expect(core.decided.filter(({ decision }) => decision.rule === undefined)).toEqual([])
  await eventually(() => sessionsOf(other), { what: `every connection is let go (seed ${seed})` })
}, 60_000)

/** Everything said is a line of RESP, and nothing is said of the inside. */
function expectReplies(said: string, seed: number): void {
  expect({ seed, said }).not.toMatchObject({
    said: expect.stringMatching(/internal error|undefined|at .*:\d+:\d+/),
  })
  if (said !== "")
    expect({ seed, said }).toMatchObject({ said: expect.stringMatching(/^[-+:$*%_=][\s\S]*\r\n$/) })
}

/** Whether the other client is the only one left. */
async function sessionsOf(client: RawClient): Promise<boolean> {
  client.received = ""
  client.send(encode("INFO"))
  await eventually(() => client.received.includes("connected_slaves"))
  return client.received.includes("connected_clients:1\r\n")
}

type Random = (below: number) => number

function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const WORDS = [
  "CL.THROTTLE",
  "PING",
  "HELLO",
  "AUTH",
  "CLIENT",
  "CONFIG",
  "COMMAND",
  "SELECT",
  "SLUICE.CHECK",
  "INFO",
  "__proto__",
  "constructor",
]
const ARGUMENTS = [
  "",
  "k",
  "1",
  "-1",
  "0",
  "99999999999999999999",
  "1.5",
  "NaN",
  "1e3",
  "\0",
  "\r\n",
  "\xff\xfe",
  "api",
  "DOCS",
  "GET",
  "SETNAME",
  "toString",
]
const HEADS = [
  "*",
  "$",
  ":",
  "+",
  "-",
  "%",
  "~",
  "_",
  "#",
  ",",
  "(",
  "=",
  ">",
  "|",
  "*-",
  "*1",
  "*2\r\n$",
  "*1\r\n$-",
  "*3\r\n$3\r\n",
]

/** A command gone wrong: too long, too short, cut, with bytes changed, or nothing but noise. */
function malformed(random: Random): Buffer {
  const pick = <T>(list: readonly T[]) => list[random(list.length)] as T
  const args = [pick(WORDS), ...Array.from({ length: random(8) }, () => pick(ARGUMENTS))]
  const bytes = Buffer.from(encode(...args).repeat(1 + random(3)), "latin1")
  switch (random(7)) {
    case 0:
      return bytes.subarray(0, random(bytes.length))
    case 1:
      for (let n = 0; n <= random(4); n++) bytes[random(bytes.length)] = random(256)
      return bytes
    case 2:
      return Buffer.from(Array.from({ length: random(300) }, () => random(256)))
    case 3:
      return Buffer.from(
        pick(HEADS) + pick(ARGUMENTS) + pick(["\r\n", "\n", "\r", ""]) + pick(HEADS),
        "latin1",
      )
    case 4:
      return Buffer.from(`${args.join(" ")}${pick(['"', "'", "\\", ""])}\r\n`, "latin1")
    case 5:
      return Buffer.concat([bytes, Buffer.alloc(random(70_000), pick(["*", "$", "\n", "x", "\0"]))])
    default:
      return bytes
  }
}
