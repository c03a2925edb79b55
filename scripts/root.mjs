import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

/** The folder that holds the repository, whatever folder a command was started in. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))
