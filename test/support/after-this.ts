// What a test has opened and must close. Test files share modules, so a hook at the top of a shared module would run for the
// first file only: the set-up file, which runs for each, calls `closeAll` after every test.

const closers: (() => unknown)[] = []

/** Calls `close` after this test. What was opened last is closed first. */
export function afterThis(close: () => unknown): void {
  closers.push(close)
}

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}
