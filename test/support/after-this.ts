// Closes what a test has opened. Test files share modules, so a hook at the top of a shared module would run only for the
// first file. The set-up file runs for every file, and therefore calls `closeAll` after every test.

const closers: (() => unknown)[] = []

/** Calls `close` after this test. Functions that were registered last run first. */
export function afterThis(close: () => unknown): void {
  closers.push(close)
}

export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}
