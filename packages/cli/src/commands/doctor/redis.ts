// Checks of one Redis URL: whether its servers are reachable and suitable, and whether the store works on them.

import { openRedisClient, redactUrl } from "sluice/redis"
import { type Finding, findings } from "./finding.js"
import { serverFindings } from "./redis-server.js"
import { isOneServer, storeFinding } from "./redis-store.js"

/** The `about` of a finding on an unreachable server, whose address is not known. */
const UNREACHABLE = "redis"
const TIMEOUT_MS = 3_000
const LOGIN_ERROR = /NOAUTH|WRONGPASS|invalid username|AUTH/

type Client = Awaited<ReturnType<typeof openRedisClient>>

export async function redisFindings(url: string): Promise<Finding[]> {
  const found: Finding[] = []
  for (const server of serversIn(url)) found.push(...(await reachableFindings(server)))
  // A test of the store would only report the unreachable server again.
  return found.some(({ about }) => about === UNREACHABLE) ? found : [...found, await storeFinding(url)]
}

/** The URL of each server of a ring. For every other URL the client finds the servers. */
function serversIn(url: string): string[] {
  const [, scheme, login = "", hosts, rest = ""] =
    /^(rediss?)\+ring:\/\/([^@/]*@)?([^/]+)(\/.*)?$/.exec(url) ?? []
  return hosts === undefined ? [url] : hosts.split(",").map((host) => `${scheme}://${login}${host}${rest}`)
}

async function reachableFindings(url: string): Promise<Finding[]> {
  const { problem } = findings(UNREACHABLE)
  const client = await openRedisClient(url)
  let reason: Error | undefined
  client.on("error", (error: Error) => {
    reason = error
  })
  try {
    if (!(await isReady(client, isOneServer(url))))
      return [problem(`cannot connect to ${redactUrl(url)}: ${reasonText(reason)}`, fixFor(reason))]
    const found: Finding[] = []
    for (const node of "nodes" in client ? client.nodes("master") : [client])
      found.push(...(await serverFindings(node)))
    return found
  } finally {
    client.disconnect()
  }
}

/** Waits until the client is connected. It retries, but an error of the only server that retrying cannot fix ends the wait. */
async function isReady(client: Client, isSingle: boolean): Promise<boolean> {
  if (client.status === "ready") return true
  return await new Promise((resolve) => {
    const end = (isUsable: boolean) => {
      clearTimeout(late)
      client.off("error", onError)
      resolve(isUsable)
    }
    const onError = (error: Error) => {
      if (isSingle && isFinal(error)) end(false)
    }
    const late = setTimeout(end, TIMEOUT_MS, false)
    client.on("error", onError)
    client.once("ready", () => end(true))
  })
}

/** Whether retrying cannot help. */
function isFinal(error: NodeJS.ErrnoException): boolean {
  return error.code === "ECONNREFUSED" || LOGIN_ERROR.test(error.message)
}

function reasonText(reason: Error | undefined): string {
  // If every address of a host name refuses, the error has a code and an empty message.
  const { message, code } = (reason ?? {}) as NodeJS.ErrnoException
  return message || code || `no answer within ${TIMEOUT_MS / 1_000} s`
}

function fixFor(reason: Error | undefined): string {
  const text = reasonText(reason)
  if (LOGIN_ERROR.test(text))
    return "Put the correct user and password into the URL: redis://user:password@host:6379."
  if (/ECONNREFUSED/.test(text)) return "Start Redis, or set store.url to the right host and port."
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return "The host name does not resolve. Check store.url and DNS."
  if (/certificate|SSL|TLS|self.signed/i.test(text))
    return "rediss:// requires a server with TLS and a certificate that this machine trusts."
  return "Check the address, the firewalls, and whether the server is overloaded or suspended."
}
