// Ids that a caller gets, keeps and sends back, and that carry what the engine needs to find its charges again. So any instance
// can use an id, and none has to remember it. An id is not secret and not signed: whoever decodes one must do no harm with what
// it says, because anybody can write one.

type Kind = "hold"

const BASE64URL = /^[A-Za-z0-9_-]+$/

/** `hold_` and JSON in base64url, for example. */
export function encodeId(kind: Kind, content: unknown): string {
  let bytes = ""
  for (const byte of new TextEncoder().encode(JSON.stringify(content))) bytes += String.fromCharCode(byte)
  return `${kind}_${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`
}

/** What an id of this kind carries. Undefined if the text is no such id. */
export function decodeId(kind: Kind, id: string): unknown {
  const text = id.slice(kind.length + 1)
  if (!id.startsWith(`${kind}_`) || !BASE64URL.test(text)) return undefined
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
    const bytes = new Uint8Array(binary.length)
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
