// Creates certificates for tests when a test needs them. The repository should contain no private key, and not every machine
// has openssl.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

/** Creates a self-signed certificate, which clients can trust as its own authority. Names may be IPv4 addresses. */
export function makeCertificate(names: readonly string[] = ["localhost", "127.0.0.1"]): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = sequence(objectId(1, 2, 840, 10045, 4, 3, 2))
  const name = sequence(set(sequence(objectId(2, 5, 4, 3), tagged(0x0c, Buffer.from(names[0] ?? "test")))))
  const year = new Date().getUTCFullYear()
  const validity = sequence(time(`${year - 1}0101000000Z`), time(`${year + 1}0101000000Z`))
  const extensions = sequence(
    // CA:TRUE. Without it, the certificate could not be its own authority.
    sequence(objectId(2, 5, 29, 19), tagged(0x04, sequence(tagged(0x01, Buffer.of(0xff))))),
    sequence(objectId(2, 5, 29, 17), tagged(0x04, sequence(...names.map(alternativeName)))),
  )
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(0x01), randomBytes(15)])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, extensions),
  )
  const certificate = sequence(body, algorithm, bits(sign("sha256", body, privateKey)))
  const lines = certificate.toString("base64").match(/.{1,64}/g) as string[]
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}

function alternativeName(name: string): Buffer {
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(name)
  return isAddress ? tagged(0x87, Buffer.from(name.split(".").map(Number))) : tagged(0x82, Buffer.from(name))
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts))
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function bits(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.of(0), bytes]))
}

/** GeneralizedTime, which has a year of four digits. */
function time(text: string): Buffer {
  return tagged(0x18, Buffer.from(text))
}

function objectId(first: number, second: number, ...rest: readonly number[]): Buffer {
  const bytes = rest.flatMap((part) => {
    const digits = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tagged(0x06, Buffer.from([first * 40 + second, ...bytes]))
}
