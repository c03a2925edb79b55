import { X509Certificate } from "node:crypto"
import { readFileSync } from "node:fs"
import { createSecureContext } from "node:tls"
import { SluiceError } from "sluice"

/** A certificate chain and its private key, in PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** How often the files are read. SIGHUP reads them at once. */
const POLL_MS = 10_000

/** Reads both files. Throws when they are not usable or do not belong together. */
export function readCertificate({ cert, key }: CertificateFiles): Certificate {
  const certificate = { cert: read(cert, "gateway.tls.cert"), key: read(key, "gateway.tls.key") }
  try {
    createSecureContext(certificate)
  } catch (cause) {
    throw invalid(
      "gateway.tls",
      `must be a certificate and its private key: ${(cause as Error).message}`,
      cause,
    )
  }
  return certificate
}

/** Reads the certificate authorities of an upstream. `place` is the setting that names the file. */
export function readAuthority(path: string, place: string): string {
  const text = read(path, place)
  try {
    new X509Certificate(text)
  } catch (cause) {
    throw invalid(place, `must contain certificates in PEM: ${(cause as Error).message}`, cause)
  }
  return text
}

function read(path: string, place: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (cause) {
    throw invalid(place, `must be a readable file: ${(cause as Error).message}`, cause)
  }
}

function invalid(place: string, expected: string, cause: unknown): SluiceError {
  return new SluiceError("CERTIFICATE_INVALID", { place, expected, cause })
}

export interface FollowOptions {
  readonly onChange: (certificate: Certificate) => void
  /** Called once for each unusable state of the files. The current certificate stays in use. */
  readonly onRefused: (error: SluiceError) => void
  readonly lookMs?: number
}

/**
 * Reloads a certificate that is renewed on disk. While its two files are being replaced they may not match; the current
 * certificate stays in use until they do.
 */
export class FollowedCertificate {
  #files: CertificateFiles
  #current: Certificate
  readonly #options: FollowOptions
  readonly #timer: NodeJS.Timeout
  #refused: string | undefined

  /** Throws when the files are not usable. */
  constructor(files: CertificateFiles, options: FollowOptions) {
    this.#files = files
    this.#options = options
    this.#current = readCertificate(files)
    this.#timer = setInterval(() => this.look(), options.lookMs ?? POLL_MS).unref()
  }

  get current(): Certificate {
    return this.#current
  }

  /** Reads the files now; other ones if given. */
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
