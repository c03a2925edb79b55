import { once } from "node:events"
import { connect, createServer, Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { addressOf } from "../listener.js"
import { SharedReads } from "./shared-reads.js"

describe("an accepted connection", () => {
  it("is read into the same memory as the others, until its client ends", async () => {
    const reads = new SharedReads()
    const memory = new Set<ArrayBufferLike>()
    const heard: string[] = []
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
      let text = ""
      const socket = reads.open(accepted, (bytes) => {
        memory.add(bytes.buffer)
        text += bytes.toString()
      })
      socket.on("end", () => {
        heard.push(text)
        socket.end(`${text}, from ${socket.remoteAddress}`)
      })
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const port = Number(addressOf(server).split(":").at(-1))
    const answers = ["one", "two"].map(async (text) => {
      const client = connect(port, "127.0.0.1").setEncoding("utf8")
      client.end(text)
      const [answer] = await once(client, "data")
      await once(client, "close")
      return answer as string
    })
    expect(await Promise.all(answers)).toEqual(["one, from 127.0.0.1", "two, from 127.0.0.1"])
    expect(heard.sort()).toEqual(["one", "two"])
    expect(memory.size).toBe(1)
    server.close()
    await once(server, "close")
  })

  it("without a handle is read as it always is", async () => {
    const accepted = new Socket()
    const heard: string[] = []
    expect(new SharedReads().open(accepted, (bytes) => heard.push(bytes.toString()))).toBe(accepted)
    accepted.push(Buffer.from("hello"))
    await once(accepted, "data")
    expect(heard).toEqual(["hello"])
    accepted.destroy()
  })
})
