import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { makeCertificate, type TestCertificate } from "../../../test/support/certificate.js"
import { type Certificate, FollowedCertificate, readAuthority, readCertificate } from "./certificates.js"

let folder: string
let files: { cert: string; key: string }
const followed: FollowedCertificate[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-certificates-"))
  files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") }
})

afterEach(() => {
  for (const each of followed.splice(0)) each.stop()
  rmSync(folder, { recursive: true })
})

function write({ cert, key }: TestCertificate): void {
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
}

function follow() {
  const changes: Certificate[] = []
  const refusals: string[] = []
  const certificate = new FollowedCertificate(files, {
    onChange: (next) => void changes.push(next),
    onRefused: ({ message }) => void refusals.push(message),
  })
  followed.push(certificate)
  return { certificate, changes, refusals }
}

it("reads a certificate and its key", () => {
  const made = makeCertificate()
  write(made)
  expect(readCertificate(files)).toEqual(made)
})

it("refuses a missing file, an invalid certificate, and a key that does not match", () => {
  expect(() => readCertificate(files)).toThrow(/^gateway\.tls\.cert: must be a readable file/)
  write({ cert: "no", key: "no" })
  expect(() => readCertificate(files)).toThrow(/^gateway\.tls: must be a certificate and its private key: /)
  write({ cert: makeCertificate().cert, key: makeCertificate().key })
  expect(() => readCertificate(files)).toThrow(/mismatch.*\[CERTIFICATE_INVALID\]$/)
})

it("refuses an authority file without a certificate", () => {
  write({ cert: "no", key: "no" })
  expect(() => readAuthority(files.cert, "upstreams.a.tls.ca")).toThrow(
    /^upstreams\.a\.tls\.ca: must contain certificates in PEM/,
  )
})

describe("a certificate that is followed", () => {
  it("changes only when its files change", () => {
    write(makeCertificate())
    const { certificate, changes } = follow()
    certificate.look()
    expect(changes).toEqual([])
    const renewed = makeCertificate()
    write(renewed)
    certificate.look()
    certificate.look()
    expect(changes).toEqual([renewed])
    expect(certificate.current).toEqual(renewed)
  })

  it("stays while only one of its files is replaced, and reports it once", () => {
    const first = makeCertificate()
    write(first)
    const { certificate, changes, refusals } = follow()
    const renewed = makeCertificate()
    writeFileSync(files.cert, renewed.cert)
    certificate.look()
    certificate.look()
    expect(refusals).toHaveLength(1)
    expect(certificate.current).toEqual(first)
    writeFileSync(files.key, renewed.key)
    certificate.look()
    expect(changes).toEqual([renewed])
  })
})
