// One Redis URL: can it be reached, is it the right one, may this user do what the store needs.

import { openRedisClient, redactUrl } from "sluice/redis"
import { type Finding, findings } from "./finding.js"
import { serverFindings } from "./redis-server.js"
import { isOneServer, storeFinding } from "./redis-store.js"

const UNREACHED = "redis"
const WITHIN_MS = 3_000
const WRONG_LOGIN = /NOAUTH|WRONGPASS|invalid username|AUTH/

type Client = Awaited<ReturnType<typeof openRedisClient>>

export async function redisFindings(url: string): Promise<Finding[]> {
  const found: Finding[] = []
  for (const server of serversIn(url)) found.push(...(await reach(server)))
  // A server that cannot be reached has been told of, under the name of none.
  return found.some(({ about }) => about === UNREACHED) ? found : [...found, await storeFinding(url)]
}

/** Of a ring each server is looked at by itself; of everything else the client finds them. */
function serversIn(url: string): string[] {
  const [, scheme, login = "", hosts, rest = ""] =
    /^(rediss?)\+ring:\/\/([^@/]*@)?([^/]+)(\/.*)?$/.exec(url) ?? []
  return hosts === undefined ? [url] : hosts.split(",").map((host) => `${scheme}://${login}${host}${rest}`)
}

async function reach(url: string): Promise<Finding[]> {
  const { problem } = findings(UNREACHED)
  const client = await openRedisClient(url)
  let reason: Error | undefined
  client.on("error", (error: Error) => {
    reason = error
  })
  try {
    if (!(await isReady(client, isOneServer(url))))
      return [problem(`${redactUrl(url)} cannot be used: ${reasonText(reason)}`, fixFor(reason))]
    const found: Finding[] = []
    for (const node of "nodes" in client ? client.nodes("master") : [client])
      found.push(...(await serverFindings(node)))
    return found
  } finally {
    client.disconnect()
  }
}

/** Waits for the client, which tries again after an error. `isAlone`: a server that refuses has no other beside it. */
async function isReady(client: Client, isAlone: boolean): Promise<boolean> {
  if (client.status === "ready") return true
  return await new Promise((resolve) => {
    const end = (isUsable: boolean) => {
      clearTimeout(late)
      client.off("error", onError)
      resolve(isUsable)
    }
    const onError = (error: Error) => {
      if (isAlone && isFinal(error)) end(false)
    }
    const late = setTimeout(end, WITHIN_MS, false)
    client.on("error", onError)
    client.once("ready", () => end(true))
  })
}

/** Trying again within seconds changes nothing about it. */
function isFinal(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNREFUSED" || WRONG_LOGIN.test(error.message)
}

function reasonText(reason: Error | undefined): string {
  // One that refuses on every address of a name tells the reasons inside, and has no message itself.
  const { message, code } = (reason ?? {}) as NodeJS.ErrnoException
  return message || code || `no answer within ${WITHIN_MS / 1_000} s`
}

function fixFor(reason: Error | undefined): string {
  const text = reasonText(reason)
  if (WRONG_LOGIN.test(text))
    return "Put the right user and password into the URL: redis://user:password@host:6379."
  if (/ECONNREFUSED/.test(text)) return "Start Redis there, or name the right host and port in store.url."
  if (/ENOTFOUND|EAI_AGAIN/.test(text))
    return "The name of the host cannot be found: check store.url and the name service."
  if (/certificate|SSL|TLS|self.signed/i.test(text))
    return "rediss:// is for servers with TLS and a certificate that this machine trusts."
  return "Check the address, firewalls between, and whether the server is overloaded or frozen."
}
