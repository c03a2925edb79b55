import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { createSecureContext } from "node:tls"
import { SluiceError } from "sluice"

/** A certificate with those it is signed by, and its key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** How often files are looked at. Who cannot wait sends SIGHUP. */
const LOOK_MS = 10_000

/** Reads both files. Throws when they cannot be used, or do not belong together. */
export function readCertificate({ cert, key }: CertificateFiles): Certificate {
  const certificate = { cert: read(cert, "gateway.tls.cert"), key: read(key, "gateway.tls.key") }
  try {
    createSecureContext(certificate)
  } catch (cause) {
    throw invalid("gateway.tls", `must be a certificate and its key: ${(cause as Error).message}`, cause)
  }
  return certificate
}

/** Reads the authorities that sign the certificates of an upstream. */
export function readAuthority(path: string, place: string): string {
  const text = read(path, place)
  try {
    new X509Certificate(text)
  } catch (cause) {
    throw invalid(place, `must be certificates in PEM: ${(cause as Error).message}`, cause)
  }
  return text
}

function read(path: string, place: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (cause) {
    throw invalid(place, `must be a file that can be read: ${(cause as Error).message}`, cause)
  }
}

function invalid(place: string, expected: string, cause: unknown): SluiceError {
  return new SluiceError("CERTIFICATE_INVALID", { place, expected, cause })
}

export interface FollowOptions {
  readonly onChange: (certificate: Certificate) => void
  /** Told once of each state of the files that cannot be used. The certificate in force stays. */
  readonly onRefused: (error: SluiceError) => void
  readonly lookMs?: number
}

/** Follows a certificate that is renewed. While its two files are being replaced they may not belong together. */
export class FollowedCertificate {
  #files: CertificateFiles
  #current: Certificate
  readonly #options: FollowOptions
  readonly #timer: NodeJS.Timeout
  #refused: string | undefined

  /** Throws when the files cannot be used now. */
  constructor(files: CertificateFiles, options: FollowOptions) {
    this.#files = files
    this.#options = options
    this.#current = readCertificate(files)
    this.#timer = setInterval(() => this.look(), options.lookMs ?? LOOK_MS).unref()
  }

  get current(): Certificate {
    return this.#current
  }

  /** Looks now, at other files if there are others. */
  look(files: CertificateFiles = this.#files): void {
    this.#files = files
    try {
      const next = readCertificate(files)
      this.#refused = undefined
      if (next.cert === this.#current.cert && next.key === this.#current.key) return
      this.#current = next
      this.#options.onChange(next)
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      if (error.message !== this.#refused) this.#options.onRefused(error)
      this.#refused = error.message
    }
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
