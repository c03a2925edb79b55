import { describe, expect, it } from "vitest"
import { EventReader } from "./event-reader.js"

const STREAM =
  'retry: 2000\n: connected\n\nid: a.1\nevent: rules\ndata: {"revision":2}\n\n: still here\n\nid: a.2\nevent: store\ndata: {}\n\n'
const EVENTS = [
  { id: "a.1", type: "rules", data: '{"revision":2}' },
  { id: "a.2", type: "store", data: "{}" },
]

describe("the reader of live events", () => {
  it("reads the same events however the text is cut", () => {
    for (let size = 1; size <= STREAM.length; size++) {
      const reader = new EventReader()
      const pieces = Array.from({ length: Math.ceil(STREAM.length / size) }, (_, i) =>
        STREAM.slice(i * size, (i + 1) * size),
      )
      expect(pieces.flatMap((piece) => reader.read(piece))).toEqual(EVENTS)
    }
  })

  it("keeps back an event that is not whole yet", () => {
    const reader = new EventReader()
    expect(reader.read("event: rules\ndata: {}\n")).toEqual([])
    expect(reader.read("\n")).toEqual([{ id: undefined, type: "rules", data: "{}" }])
  })

  it("joins the lines of one event", () => {
    expect(new EventReader().read("data: a\ndata: b\n\n")).toEqual([
      { id: undefined, type: "message", data: "a\nb" },
    ])
  })
})
