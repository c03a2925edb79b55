import { type FSWatcher, watch } from "node:fs"
import { dirname } from "node:path"
import { MAX_TIMEOUT_MS } from "../../clock.js"

/** Several events belong to one change; an editor's are a few milliseconds apart. */
const TOGETHER_MS = 10

/**
 * Calls back when a file may have changed. The folder is watched, not the file: editors replace a file by another, and
 * Kubernetes swaps a link beside it. Where the system tells nothing (network drives, watches used up), every `pollMs` does.
 */
export function watchFile(path: string, pollMs: number, look: () => void): () => void {
  let soon: NodeJS.Timeout | undefined
  const poll = setInterval(look, Math.min(pollMs, MAX_TIMEOUT_MS)).unref()
  const watcher = tryWatch(dirname(path), () => {
    clearTimeout(soon)
    soon = setTimeout(look, TOGETHER_MS).unref()
  })
  return () => {
    clearInterval(poll)
    clearTimeout(soon)
    watcher?.close()
  }
}

function tryWatch(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed)
    watcher.on("error", () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}
