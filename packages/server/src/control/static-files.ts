// Serves the files of the dashboard as they were at the start. Requests are looked up in the list of these files and never become
// a path, so no request leads out of the folder. All files are in memory: they are small, and files of a newer build would not
// match those that a browser already has.

import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { SluiceError } from "sluice"
import type { Answer } from "./api/route.js"

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

/** A name with a hash of the content: `index-BkT3x9_a.js`. */
const HASHED = /[-.][A-Za-z0-9_-]{8,}\.\w+$/
const A_YEAR = 31_536_000
/** Types worth compressing. Pictures and fonts are compressed already. */
const TEXT = /^(?:html|js|css|json|webmanifest|txt|svg)$/

interface Held {
  readonly content: Buffer
  readonly type: string
  /** Computed at the first request. */
  etag: string | undefined
  /** Compressed at the first request. */
  gzipped: Promise<Buffer> | undefined
}

export class StaticFiles {
  readonly #files: ReadonlyMap<string, Held>

  constructor(folder: string) {
    this.#files = filesIn(folder)
    if (this.#files.has("/index.html")) return
    throw new SluiceError("OPTION_TYPE", {
      place: "control.dashboard",
      expected: "must be a folder with an index.html",
      found: folder,
    })
  }

  /** The file at a path, or undefined. `accepted` is the accept-encoding header of the client. */
  async find(path: string, accepted = ""): Promise<Answer | undefined> {
    const name = path === "/" ? "/index.html" : path
    const file = this.#files.get(name)
    if (file === undefined) return undefined
    const { content, type } = file
    file.etag ??= etagOf(content)
    const headers = { etag: file.etag, "cache-control": cachingOf(name) }
    if (!TEXT.test(extensionOf(name))) return { content, type, headers }
    const varying = { ...headers, vary: "accept-encoding" }
    if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(accepted))
      return { content, type, headers: varying }
    file.gzipped ??= promisify(gzip)(content, { level: 9 })
    return { content: await file.gzipped, type, headers: { ...varying, "content-encoding": "gzip" } }
  }
}

function held(file: string): Held {
  return {
    content: readFileSync(file),
    type: TYPES[extensionOf(file)] ?? "application/octet-stream",
    etag: undefined,
    gzipped: undefined,
  }
}

function etagOf(content: Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).toLowerCase()
}

/** A file with a hash in its name is cached for ever. Others are revalidated each time. */
function cachingOf(name: string): string {
  return name.startsWith("/assets/") && HASHED.test(name)
    ? `public, max-age=${A_YEAR}, immutable`
    : "no-cache"
}

/** Only regular files, because a link could lead anywhere, and no hidden files. */
function filesIn(folder: string): Map<string, Held> {
  const files = new Map<string, Held>()
  try {
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const parts = relative(folder, file).split(sep)
      if (!parts.some((part) => part.startsWith("."))) files.set(`/${parts.join("/")}`, held(file))
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
