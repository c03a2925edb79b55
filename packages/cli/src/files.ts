// Files that the user names on the command line.

import { readFile, writeFile } from "node:fs/promises"
import { SluiceError } from "sluice"

/** The name of a file in messages. `-` is standard input. */
export function nameOf(path: string): string {
  return path === "-" ? "standard input" : path
}

/** Reads the text of a rules file, or of standard input for `-`. */
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

/** Writes a report or a recommended rule to a file. */
export async function writeResult(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((cause: NodeJS.ErrnoException) => {
    throw new SluiceError("LOG_IO", { place: path, expected: `cannot be written (${cause.code})`, cause })
  })
}
