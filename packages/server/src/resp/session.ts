/** What is known of a client from one command to the next. */
export interface Session {
  readonly id: number
  /** Where it comes from. */
  readonly address: string
  name: string
  protocol: 2 | 3
  database: number
  isLoggedIn: boolean
  /** It has said goodbye, or is beyond understanding: nothing more is read from it. */
  isEnding: boolean
}

export function newSession(id: number, address: string, isLoggedIn: boolean): Session {
  return { id, address, name: "", protocol: 2, database: 0, isLoggedIn, isEnding: false }
}
