import { readFile } from "node:fs/promises"
import { SluiceError } from "sluice"

/** What messages call a file; `-` is standard input. */
export function nameOf(path: string): string {
  return path === "-" ? "standard input" : path
}

/** The text of a file of rules, or of standard input for `-`. */
export async function readInput(path: string, stdin: NodeJS.ReadStream): Promise<string> {
  if (path !== "-") {
    return await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw new SluiceError("RULES_IO", { place: path, expected: `cannot be read (${cause.code})`, cause })
    })
  }
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}
