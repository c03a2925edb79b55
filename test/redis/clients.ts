import { Cluster, Redis, type RedisOptions } from "ioredis"
import { createClient, createCluster, createSentinel } from "redis"
import type { UserClient } from "sluice/redis"
import type { RedisCluster } from "../support/redis/cluster.js"
import type { SentinelTopology } from "../support/redis/sentinel.js"

/** The supported client libraries. */
export const LIBRARIES = ["ioredis", "node-redis"] as const
export type Library = (typeof LIBRARIES)[number]

/** A connected client of one of the two libraries, with default options as most applications have it. */
export interface OpenClient {
  readonly client: UserClient
  close(): Promise<void>
}

interface Address {
  readonly host: string
  readonly port: number
}

export async function openSingle(library: Library, server: Address, resp: 2 | 3 = 3): Promise<OpenClient> {
  const { host, port } = server
  if (library === "ioredis") return ofRedis(await connected(new Redis({ host, port, protocol: resp })))
  const client = createClient({ socket: { host, port }, RESP: resp })
  return ofNodeRedis(client)
}

export async function openSentinel(library: Library, topology: SentinelTopology): Promise<OpenClient> {
  const { name } = topology
  const sentinels = topology.sentinels.map(({ host, port }) => ({ host, port }))
  if (library === "ioredis") return ofRedis(await connected(new Redis({ sentinels, name })))
  return ofNodeRedis(createSentinel({ name, sentinelRootNodes: sentinels }))
}

export async function openCluster(
  library: Library,
  cluster: RedisCluster,
  options: { enableAutoPipelining?: boolean } = {},
): Promise<OpenClient> {
  const nodes = cluster.nodes.map(({ host, port }) => ({ host, port }))
  if (library === "ioredis") return ofRedis(await connected(new Cluster(nodes, options)))
  return ofNodeRedis(createCluster({ rootNodes: nodes.map((socket) => ({ socket })) }))
}

type IoRedisOptions = Omit<RedisOptions, "replyMapping">

/** An ioredis client of a single server with options of the test's own. */
export async function openIoRedis(
  { host, port }: Address,
  options: IoRedisOptions = {},
): Promise<OpenClient> {
  return ofRedis(await connected(new Redis(port, host, options)))
}

async function connected<Client extends Redis | Cluster>(client: Client): Promise<Client> {
  await new Promise((resolve, reject) => {
    client.once("ready", resolve)
    client.once("error", reject)
  })
  return client
}

function ofRedis(client: Redis | Cluster): OpenClient {
  return {
    client,
    async close() {
      client.disconnect()
    },
  }
}

interface NodeRedisClient {
  on(event: "error", listener: () => void): unknown
  connect(): Promise<unknown>
  close(): unknown
}

async function ofNodeRedis(client: NodeRedisClient): Promise<OpenClient> {
  client.on("error", () => undefined)
  await client.connect()
  return {
    client,
    async close() {
      await client.close()
    },
  }
}
