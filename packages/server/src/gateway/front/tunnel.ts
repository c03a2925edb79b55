import type { Duplex } from "node:stream"

export interface TunnelWatch {
  toUpstream(bytes: number): void
  toClient(bytes: number): void
}

/** Joins two sockets until either ends: bytes go through as they come, no faster than the other side takes them. */
export function join(client: Duplex, upstream: Duplex, watch: TunnelWatch): void {
  pump(client, upstream, watch.toUpstream)
  pump(upstream, client, watch.toClient)
}

function pump(from: Duplex, to: Duplex, moved: (bytes: number) => void): void {
  from.on("data", (bytes: Buffer) => {
    moved(bytes.length)
    if (!to.write(bytes)) from.pause()
  })
  from.resume()
  to.on("drain", () => from.resume())
  // What was said last still arrives: the other side is told of the end after it.
  from.on("end", () => to.end())
  from.on("error", () => to.destroy())
  from.on("close", () => (to.writableEnded ? undefined : to.destroy()))
}
