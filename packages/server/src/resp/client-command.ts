// CLIENT: client libraries describe themselves when they connect. The name is stored; the other subcommands have no effect.

import { type Call, type Command, unknownSubcommand } from "./command.js"

const PRINTABLE = /^[!-~]*$/

function setName({ session, request, reply }: Call): void {
  const name = request.text(2)
  if (!PRINTABLE.test(name)) {
    reply.error("ERR Client names cannot contain spaces, newlines or special characters.")
    return
  }
  session.name = name
  reply.simple("OK")
}

function getName({ session, reply }: Call): void {
  if (session.name === "") reply.nothing()
  else reply.bulk(session.name)
}

function describe({ session, reply }: Call): void {
  const { id, address, name, database, protocol } = session
  reply.verbatim(`id=${id} addr=${address} name=${name} db=${database} resp=${protocol}\n`)
}

interface Subcommand {
  /** The number of arguments including both names. */
  readonly count: number
  run(call: Call): void
}

const acknowledge = ({ reply }: Call) => reply.simple("OK")

const subcommands: Readonly<Record<string, Subcommand>> = {
  setname: { count: 3, run: setName },
  getname: { count: 2, run: getName },
  id: { count: 2, run: ({ session, reply }) => reply.integer(session.id) },
  info: { count: 2, run: describe },
  setinfo: { count: 4, run: acknowledge },
  "no-evict": { count: 3, run: acknowledge },
  "no-touch": { count: 3, run: acknowledge },
}

export const clientCommand: Command = {
  name: "client",
  arity: -2,
  summary: "SETNAME, GETNAME, ID, INFO, SETINFO, NO-EVICT, NO-TOUCH",
  run(call) {
    const name = call.request.text(1).toLowerCase()
    const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
    if (subcommand === undefined) call.reply.error(unknownSubcommand(call))
    else if (call.request.count !== subcommand.count)
      call.reply.error(`ERR wrong number of arguments for 'client|${name}' command`)
    else subcommand.run(call)
    return undefined
  },
}
