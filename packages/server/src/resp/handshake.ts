// Connection commands: HELLO, AUTH, SELECT, RESET, QUIT, PING, ECHO.

import { type Call, type Command, wrongArity } from "./command.js"
import { VERSION } from "./server-info.js"
import { DATABASES } from "./throttle.js"

const NO_PASSWORD =
  "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
const WRONG_PASSWORD = "WRONGPASS invalid username-password pair or user is disabled."
const LOGIN_FIRST =
  "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"

/** Logs the client in, or writes the error. */
function logIn({ host, session, reply }: Call, user: string, password: string): boolean {
  const { ok, waitMs } = host.login.try(session.address, user, password)
  if (ok) {
    session.isLoggedIn = true
    return true
  }
  reply.error(
    waitMs === undefined
      ? WRONG_PASSWORD
      : `ERR too many wrong passwords from this address, try again in ${Math.ceil(waitMs / 1000)} s`,
  )
  return false
}

const auth: Command = {
  name: "auth",
  arity: -2,
  summary: "Logs in: [username] password",
  beforeLogin: true,
  run(call) {
    const { host, request, reply } = call
    if (request.count > 3) reply.error("ERR syntax error")
    else if (request.count === 2 && !host.login.isRequired) reply.error(NO_PASSWORD)
    else {
      const user = request.count === 3 ? request.text(1) : "default"
      if (logIn(call, user, request.text(request.count - 1))) reply.simple("OK")
    }
    return undefined
  },
}

const hello: Command = {
  name: "hello",
  arity: -1,
  summary: "Chooses RESP2 or RESP3: [version [AUTH username password] [SETNAME name]]",
  beforeLogin: true,
  run(call) {
    const { session, request, reply } = call
    const wanted = request.count > 1 ? request.text(1) : String(session.protocol)
    if (!/^\d+$/.test(wanted)) {
      reply.error("ERR Protocol version is not an integer or out of range")
      return undefined
    }
    if (wanted !== "2" && wanted !== "3") {
      reply.error("NOPROTO unsupported protocol version")
      return undefined
    }
    if (!takeOptions(call)) return undefined
    if (!session.isLoggedIn) {
      reply.error(LOGIN_FIRST)
      return undefined
    }
    session.protocol = wanted === "3" ? 3 : 2
    reply.protocol = session.protocol
    greet(call)
    return undefined
  },
}

/** Applies the options AUTH and SETNAME of HELLO. False when it wrote an error. */
function takeOptions(call: Call): boolean {
  const { session, request, reply } = call
  let name: string | undefined
  for (let i = 2; i < request.count; ) {
    const option = request.text(i).toLowerCase()
    const left = request.count - i - 1
    if (option === "auth" && left >= 2) {
      if (!logIn(call, request.text(i + 1), request.text(i + 2))) return false
      i += 3
    } else if (option === "setname" && left >= 1) {
      name = request.text(i + 1)
      i += 2
    } else {
      reply.error(`ERR Syntax error in HELLO option '${request.text(i).slice(0, 128)}'`)
      return false
    }
  }
  if (name !== undefined) session.name = name
  return true
}

function greet({ session, reply }: Call): void {
  reply.map(7)
  reply.bulk("server")
  reply.bulk("sluice")
  reply.bulk("version")
  reply.bulk(VERSION)
  reply.bulk("proto")
  reply.integer(session.protocol)
  reply.bulk("id")
  reply.integer(session.id)
  reply.bulk("mode")
  reply.bulk("standalone")
  reply.bulk("role")
  reply.bulk("master")
  reply.bulk("modules")
  reply.array(0)
}

const select: Command = {
  name: "select",
  arity: 2,
  summary: `Selects one of ${DATABASES} databases, each with its own counters`,
  run({ session, request, reply }) {
    const text = request.text(1)
    const database = Number(text)
    if (!/^-?\d+$/.test(text)) reply.error("ERR value is not an integer or out of range")
    else if (!(database >= 0 && database < DATABASES)) reply.error("ERR DB index is out of range")
    else {
      session.database = database
      reply.simple("OK")
    }
    return undefined
  },
}

const reset: Command = {
  name: "reset",
  arity: 1,
  summary: "Resets the state of the connection",
  beforeLogin: true,
  run({ host, session, reply }) {
    session.name = ""
    session.protocol = 2
    reply.protocol = 2
    session.database = 0
    session.isLoggedIn = !host.login.isRequired
    reply.simple("RESET")
    return undefined
  },
}

const quit: Command = {
  name: "quit",
  arity: -1,
  summary: "Closes the connection",
  beforeLogin: true,
  run({ session, reply }) {
    reply.simple("OK")
    session.isEnding = true
    return undefined
  },
}

const ping: Command = {
  name: "ping",
  arity: -1,
  summary: "Replies PONG, or the message: [message]",
  run({ request, reply }) {
    if (request.count === 1) reply.simple("PONG")
    else if (request.count === 2) reply.bulk(request.raw(1))
    else reply.error(wrongArity("ping"))
    return undefined
  },
}

const echo: Command = {
  name: "echo",
  arity: 2,
  summary: "Replies the message: message",
  run({ request, reply }) {
    reply.bulk(request.raw(1))
    return undefined
  },
}

export const handshakeCommands: readonly Command[] = [auth, hello, select, reset, quit, ping, echo]
