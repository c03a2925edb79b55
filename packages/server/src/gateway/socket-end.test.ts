import { Socket } from "node:net"
import { expect, it } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { onSocketEnd } from "./socket-end.js"

it("tells all who want to know of a socket's end on one listener, but not those who want to no more", async () => {
  const socket = new Socket()
  const before = socket.listenerCount("close")
  const told: number[] = []
  const forget = Array.from({ length: 100 }, (_, i) => onSocketEnd(socket, () => void told.push(i)))
  expect(socket.listenerCount("close")).toBe(before + 1)
  for (const forgotten of forget.slice(2)) forgotten()
  socket.destroy()
  await eventually(() => told.length > 0)
  expect(told).toEqual([0, 1])
})
