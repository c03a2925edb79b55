import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

/**
 * Private directories for servers that a test starts. Neither the directories nor the servers outlive this process.
 * An exit hook removes them when the process ends by itself. A small shell, the reaper, removes them when the process
 * is killed: it waits for the end of its standard input, which the system closes however the process dies.
 */
interface Sandbox {
  readonly root: string
  readonly rooms: Set<string>
  readonly reaper: ChildProcess
}

const PID_FILE = "pid"

const REAPER = `
cat >/dev/null
for file in "$1"/*/${PID_FILE}; do
  if [ -f "$file" ]; then kill -9 "$(cat "$file")"; fi
done
rm -rf "$1"
`

let sandbox: Sandbox | undefined

/** Creates a directory that only this user can enter. */
export function openRoom(label: string): string {
  sandbox ??= openSandbox()
  const room = mkdtempSync(join(sandbox.root, `${label}-`))
  sandbox.rooms.add(room)
  return room
}

/** Records which process uses the directory, so that it is killed if this process dies. Pass `undefined` when it has ended. */
export function setOccupant(room: string, pid: number | undefined): void {
  const file = join(room, PID_FILE)
  if (pid === undefined) rmSync(file, { force: true })
  else writeFileSync(file, String(pid))
}

/** Removes the directory. Removing the last one also removes the sandbox. */
export function closeRoom(room: string): void {
  rmSync(room, { recursive: true, force: true })
  if (sandbox === undefined || !sandbox.rooms.delete(room) || sandbox.rooms.size > 0) return
  closeSandbox(sandbox)
}

/** The parent of all directories of this process, while there are any. */
export function sandboxRoot(): string | undefined {
  return sandbox?.root
}

function openSandbox(): Sandbox {
  const root = mkdtempSync(join(tmpdir(), "sluice-test-"))
  // Detached, because Ctrl-C in a terminal reaches the whole process group, and the reaper must survive it.
  const reaper = spawn("/bin/sh", ["-c", REAPER, "sluice-reaper", root], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  })
  // On a system without a shell, only the exit hook cleans up.
  reaper.on("error", () => undefined)
  reaper.unref()
  if (reaper.stdin instanceof Socket) reaper.stdin.unref()
  process.once("exit", killOccupants)
  return { root, rooms: new Set(), reaper }
}

function closeSandbox({ root, reaper }: Sandbox): void {
  sandbox = undefined
  process.removeListener("exit", killOccupants)
  rmSync(root, { recursive: true, force: true })
  reaper.stdin?.destroy()
}

function killOccupants(): void {
  if (sandbox === undefined) return
  for (const room of sandbox.rooms) {
    const file = join(room, PID_FILE)
    if (existsSync(file)) kill(Number(readFileSync(file, "utf8")))
  }
  closeSandbox(sandbox)
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // Already gone.
  }
}
