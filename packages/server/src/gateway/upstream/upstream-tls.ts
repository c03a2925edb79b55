/** How the certificate of an https upstream is verified. It always is. */
export interface UpstreamTls {
  /** Who signed it, in PEM, in place of the authorities that Node.js knows. */
  readonly ca?: string | undefined
  /** The name it must be for. Default: the host of the address. */
  readonly serverName?: string | undefined
}
