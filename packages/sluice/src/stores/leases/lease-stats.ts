/** What leases have done since the start, in units unless it says otherwise. */
export interface LeaseStats {
  /** Keys with a lease now. */
  readonly keys: number
  /** Held now and not yet spent. */
  readonly held: number
  readonly spent: number
  /** Handed back to the store unspent. */
  readonly returned: number
  /** Neither spent nor handed back. */
  readonly wasted: number
  /** Checks that were answered by a lease, or by a denial that still held. */
  readonly answered: number
  /** Calls to the store that took or handed back units. */
  readonly calls: number
  /** Calls that leases have saved: `answered` minus `calls`. */
  readonly callsSaved: number
}
