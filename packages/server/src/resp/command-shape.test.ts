import { once } from "node:events"
import { connect } from "node:net"
import { expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { LOOPBACK } from "../../../../test/support/ports.js"
import { startRedis } from "../../../../test/support/redis/single.js"
import { encode, start } from "./started.test-support.js"

/** What a reply is made of, without its values: the types of its parts, and of what is in a set each only once. */
type Shape = string | readonly Shape[]

/** The shapes of all replies in some bytes. */
function shapesOf(text: string): Shape[] {
  let at = 0
  const line = (): string => {
    const end = text.indexOf("\r\n", at)
    const found = text.slice(at, end)
    at = end + 2
    return found
  }
  const next = (): Shape => {
    const head = line()
    const type = head[0] as string
    const count = Number(head.slice(1))
    if (type === "$" || type === "=") {
      if (count >= 0) at += count + 2
      return count >= 0 ? type : "nil"
    }
    if (type === "*") return ["*", ...asSet(parts(count))]
    if (type === "~") return ["~", ...new Set(parts(count).map((part) => JSON.stringify(part)))]
    if (type === "%") return ["%", ...parts(count * 2)]
    return type
  }
  // A set is an array in RESP2, and all its items are words.
  const asSet = (found: Shape[]): Shape[] => (found.every((part) => part === "+") ? found.slice(0, 1) : found)
  const parts = (count: number): Shape[] => Array.from({ length: count }, next)
  const shapes: Shape[] = []
  while (at < text.length) shapes.push(next())
  return shapes
}

/** The shape of the last of some replies. */
async function lastShape(port: number, ...commands: string[][]): Promise<Shape | undefined> {
  const socket = connect(port, LOOPBACK)
  onTestFinished(() => void socket.destroy())
  let text = ""
  socket.on("data", (bytes) => {
    text += bytes.toString("latin1")
  })
  await once(socket, "connect")
  socket.write(`${commands.map((command) => encode(...command)).join("")}${encode("QUIT")}`)
  await eventually(() => text.endsWith("+OK\r\n"))
  return shapesOf(text).at(-2)
}

it.each([["2"], ["3"]])("COMMAND answers in the shape that Redis gives it in RESP%s", async (version) => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const { port } = await start()
  const hello = ["HELLO", version]
  const shape = (of: number, ...command: string[]) => lastShape(of, hello, command)
  expect(await shape(port, "COMMAND", "INFO", "nothing")).toEqual(
    await shape(redis.port, "COMMAND", "INFO", "nothing"),
  )
  // Both have one key that they write, at the same place, and no tips.
  expect(await shape(port, "COMMAND", "INFO", "cl.throttle")).toEqual(
    await shape(redis.port, "COMMAND", "INFO", "getdel"),
  )
  expect(await shape(port, "COMMAND", "INFO", "auth")).toEqual(
    await shape(redis.port, "COMMAND", "INFO", "auth"),
  )
  expect(await shape(port, "COMMAND", "COUNT")).toEqual(await shape(redis.port, "COMMAND", "COUNT"))
})
