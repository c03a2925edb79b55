type Random = () => number

const SPLICES = [
  "\r\n",
  "\n",
  "\r",
  "\t",
  " ",
  "\u0000",
  "\u00ff",
  ":",
  ",",
  "0",
  "-",
  "Host: b\r\n",
  "Content-Length: 0\r\n",
]

/** Changes, drops, doubles or inserts something in one to three places. */
export function mutate(random: Random, input: Buffer): Buffer {
  let bytes = input
  for (let times = 1 + Math.floor(random() * 3); times > 0; times--) {
    const at = Math.floor(random() * (bytes.length + 1))
    const to = Math.min(bytes.length, at + Math.floor(random() * 12))
    const kind = random()
    const between =
      kind < 0.25
        ? Buffer.alloc(0)
        : kind < 0.5
          ? bytes.subarray(at, to)
          : kind < 0.85
            ? Buffer.from(SPLICES[Math.floor(random() * SPLICES.length)] as string, "latin1")
            : Buffer.from([Math.floor(random() * 256)])
    const rest = kind < 0.25 || random() < 0.5 ? to : at
    bytes = Buffer.concat([bytes.subarray(0, at), between, bytes.subarray(rest)])
  }
  return bytes
}
