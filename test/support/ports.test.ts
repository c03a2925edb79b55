import { createServer } from "node:net"
import { expect, it } from "vitest"
import { reservePort } from "./ports.js"

it("never hands out a port twice while it is reserved, and leaves room for the Cluster bus", async () => {
  const reserved = await Promise.all(Array.from({ length: 50 }, () => reservePort()))
  const ports = reserved.map(({ port }) => port)
  expect(new Set(ports).size).toBe(50)
  expect(ports.every((port) => port >= 10_000 && port < 20_000)).toBe(true)
  await Promise.all(reserved.map((one) => one.release()))
})

it("leaves the TCP port free to listen on, again and again", async () => {
  const { port, release } = await reservePort()
  for (let round = 0; round < 3; round++) {
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, "127.0.0.1", resolve)
    })
    await new Promise((resolve) => server.close(resolve))
  }
  await release()
  await release()
})
