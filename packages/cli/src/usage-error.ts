import { SluiceError } from "sluice"

/** The command line itself is wrong: status 2, and a hint where help is. */
export class UsageError extends SluiceError {
  constructor(place: string, expected: string, found?: { readonly found: unknown }) {
    super("USAGE_INVALID", { place, expected, ...found })
  }
}
