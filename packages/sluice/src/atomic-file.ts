// Not imported statically: the library also loads where there are no files.
const fs = () => process.getBuiltinModule("node:fs")
const path = () => process.getBuiltinModule("node:path")

/** Replaces a file so that anyone sees the old content or the new, whole, also after a crash in the middle. */
export function replaceFile(file: string, content: Uint8Array | string, mode = 0o600): void {
  const { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } = fs()
  const folder = path().dirname(file)
  const draft = path().join(folder, `.${path().basename(file)}.${process.pid}.${Date.now().toString(36)}`)
  try {
    const handle = openSync(draft, "w", mode)
    try {
      writeFileSync(handle, content)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  // The rename itself is only on disk once the folder is.
  const handle = openSync(folder, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
