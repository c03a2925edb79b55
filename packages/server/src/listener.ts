/** Something that listens on an address: one protocol of the service. */
export interface Listener {
  /** `host:port`, the port as it was given out. */
  readonly address: string
  /** Takes nothing new, lets what is under way finish, and after the deadline cuts what is left. */
  close(deadlineMs?: number): Promise<void>
}
