// The files of the dashboard. What can be asked for is what was in the folder at the start, by name: no path is ever built
// from a request, so that none leads out of the folder.

import { createHash } from "node:crypto"
import { readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { SluiceError } from "sluice"
import type { Answer } from "./route.js"

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  webmanifest: "application/manifest+json",
  txt: "text/plain; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  ico: "image/x-icon",
  woff2: "font/woff2",
}

/** `index-BkT3x9_a.js`: a name that changes with what is in it. */
const HASHED = /[-.][A-Za-z0-9_-]{8,}\.\w+$/
const A_YEAR = 31_536_000

interface Held {
  readonly content: Buffer
  readonly etag: string
}

export class StaticFiles {
  readonly #files: ReadonlyMap<string, string>
  readonly #held = new Map<string, Promise<Held>>()

  constructor(folder: string) {
    this.#files = filesIn(folder)
    if (this.#files.has("/index.html")) return
    throw new SluiceError("OPTION_TYPE", {
      place: "control.dashboard",
      expected: "must be a folder with an index.html",
      found: folder,
    })
  }

  /** The file at a path, or undefined when there is none. */
  async find(path: string): Promise<Answer | undefined> {
    const name = path === "/" ? "/index.html" : path
    const file = this.#files.get(name)
    if (file === undefined) return undefined
    const { content, etag } = await this.#read(name, file)
    return {
      content,
      type: TYPES[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "application/octet-stream",
      headers: { etag, "cache-control": cachingOf(name) },
    }
  }

  #read(name: string, file: string): Promise<Held> {
    let held = this.#held.get(name)
    if (held === undefined) {
      held = readFile(file).then((content) => {
        return { content, etag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"` }
      })
      this.#held.set(name, held)
      held.catch(() => this.#held.delete(name))
    }
    return held
  }
}

/** A file that is named by what is in it is never asked for again; others are looked at each time. */
function cachingOf(name: string): string {
  return name.startsWith("/assets/") && HASHED.test(name)
    ? `public, max-age=${A_YEAR}, immutable`
    : "no-cache"
}

/** Regular files only: a link could lead anywhere. Names that begin with a dot are nobody's business. */
function filesIn(folder: string): Map<string, string> {
  const files = new Map<string, string>()
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const parts = relative(folder, file).split(sep)
      if (!parts.some((part) => part.startsWith("."))) files.set(`/${parts.join("/")}`, file)
    }
  } catch (cause) {
    throw new SluiceError("OPTION_TYPE", {
      place: "control.dashboard",
      expected: "must be a folder that can be read",
      found: folder,
      cause,
    })
  }
  return files
}
