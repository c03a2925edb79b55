// What a browser keeps for the next visit. Some browsers keep nothing, and say so by throwing.

/** What was kept under a name, if it is one of those that are known. */
export function kept<const Known extends string>(name: string, known: readonly Known[]): Known | undefined {
  try {
    const found = localStorage.getItem(`sluice.${name}`)
    return known.find((value) => value === found)
  } catch {
    return undefined
  }
}

export function keep(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`sluice.${name}`)
    else localStorage.setItem(`sluice.${name}`, value)
  } catch {
    // It lasts until the page is closed, then.
  }
}
