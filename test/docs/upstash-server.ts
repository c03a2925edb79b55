import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Redis } from "ioredis"
import { afterThis } from "../support/after-this.js"

/** Upstash's servers know this flag; Redis refuses a script that has it. The script works the same without it. */
const FLAG = /^#!lua flags=allow-key-locking\r?\n/

type Command = [name: string, ...values: (string | number)[]]

/** Answers pipelines of Upstash's REST protocol, which its client sends by default, from a Redis server. Returns its address. */
export async function serveUpstash(redisUrl: string): Promise<string> {
  const client = new Redis(redisUrl)
  const run = async ([name, ...values]: Command) => {
    const args = values.map((value) => (typeof value === "string" ? value.replace(FLAG, "") : value))
    return await client.call(name, ...args).then(
      (result) => ({ result }),
      (error: Error) => ({ error: error.message }),
    )
  }
  const server = createServer(async (request, response) => {
    const commands = JSON.parse(await bodyOf(request)) as Command[]
    response.end(JSON.stringify(await Promise.all(commands.map(run))))
  }).listen(0, "127.0.0.1")
  afterThis(() => {
    server.closeAllConnections()
    server.close()
    client.disconnect()
  })
  await new Promise((resolve) => server.once("listening", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ""
  for await (const chunk of request.setEncoding("utf8")) body += chunk
  return body
}
