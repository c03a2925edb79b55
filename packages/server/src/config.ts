export interface Config {
  readonly host: string
  readonly port: number
}

/** Reads HOST and PORT. The default address answers this machine only. */
export function readConfig(env: { readonly [name: string]: string | undefined }): Config {
  const host = env.HOST || "127.0.0.1"
  const port = env.PORT || "8080"
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Error(`PORT must be a whole number from 0 to 65535, got "${port}"`)
  }
  return { host, port: Number(port) }
}
