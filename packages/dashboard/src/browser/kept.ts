// Choices that the browser stores for the next visit. Where storage is disabled, localStorage throws.

/** The stored value, if it is one of the known values. */
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
    // Without storage, the choice lasts until the page is closed.
  }
}
