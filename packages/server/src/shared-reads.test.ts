import { once } from "node:events"
import { connect, createServer, type Server, Socket } from "node:net"
import { describe, expect, it } from "vitest"
import { addressOf } from "./listener.js"
import { SharedReads } from "./shared-reads.js"

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return Number(addressOf(server).split(":").at(-1))
}

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
        return true
      })
      socket.on("end", () => {
        heard.push(text)
        socket.end(`${text}, from ${socket.remoteAddress}`)
      })
    })
    const port = await portOf(server)
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

  it("gives as data of its own what nobody has taken", async () => {
    const reads = new SharedReads()
    const memory = new Set<ArrayBufferLike>()
    const server = createServer((accepted) => {
      const socket = reads.open(accepted, (bytes) => {
        memory.add(bytes.buffer)
        return bytes.toString() === "taken"
      })
      socket.on("data", (bytes: Buffer) => {
        memory.add(bytes.buffer)
        socket.write(`${bytes}, as data`)
      })
      socket.write("hello")
    })
    const client = connect(await portOf(server), "127.0.0.1").setEncoding("utf8")
    await once(client, "data")
    client.write("left")
    expect(await once(client, "data")).toEqual(["left, as data"])
    expect(memory.size).toBe(2)
    client.destroy()
    server.close()
    await once(server, "close")
  })

  it("is still one of its server's, which waits for it when it closes", async () => {
    const reads = new SharedReads()
    const server = createServer((accepted) => {
      reads.open(accepted, () => true).write("hello")
    })
    server.maxConnections = 1
    const port = await portOf(server)
    const client = connect(port, "127.0.0.1")
    await once(client, "data")
    const second = connect(port, "127.0.0.1")
    await once(second, "close")
    expect(second.bytesRead).toBe(0)
    let isClosed = false
    const closed = once(server, "close").then(() => {
      isClosed = true
    })
    server.close()
    await new Promise(setImmediate)
    expect(isClosed).toBe(false)
    client.destroy()
    await closed
  })

  it("without a handle is read as it always is", async () => {
    const accepted = new Socket()
    const heard: string[] = []
    const socket = new SharedReads().open(accepted, (bytes) => heard.push(bytes.toString()) > 0)
    expect(socket).toBe(accepted)
    accepted.push(Buffer.from("hello"))
    await once(accepted, "data")
    expect(heard).toEqual(["hello"])
    accepted.destroy()
  })
})
