/** A listener of the service could not listen, in words that tell a person what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError"

  /** `setting` is where its address comes from: `http`, `grpc`. */
  constructor(setting: string, address: { readonly host: string; readonly port: number }, cause: unknown) {
    super(explain(setting, address, cause), { cause })
  }
}

function explain(setting: string, { host, port }: { host: string; port: number }, cause: unknown): string {
  const variable = (name: string) => `SLUICE_${setting.toUpperCase()}__${name}`
  switch ((cause as NodeJS.ErrnoException | undefined)?.code) {
    case "EADDRINUSE":
      return `Port ${port} on ${host} is taken by another program. Stop it, or use another port:\n\n  ${variable("PORT")}=${port + 1} npm start`
    case "EACCES":
      return `This user may not listen on port ${port}. Use a port above 1023:\n\n  ${variable("PORT")}=8080 npm start`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `"${host}" is not an address of this machine. Use one that is:\n\n  ${variable("HOST")}=127.0.0.1 npm start`
    default:
      return `Could not listen on ${host}, port ${port}: ${cause instanceof Error ? cause.message : String(cause)}`
  }
}
