// The faults of `npm run test:chaos`: each has the address of a store, a function that starts it and one that ends it.

import { startCluster } from "../support/redis/cluster.js"
import { keyslot, SLOT_COUNT } from "../support/redis/keyslot.js"
import { startRing } from "../support/redis/ring.js"
import { startSentinel } from "../support/redis/sentinel.js"
import type { RedisServer } from "../support/redis/single.js"
import { openBed } from "./bed.js"
import { HOT } from "./load.js"
import { type Fault, faultNamed, singleFaults } from "./single-faults.js"

export interface Scene {
  readonly url: string
  /** Every server that holds data. */
  readonly servers: readonly RedisServer[]
  /** Resolves when the fault is in effect. */
  strike(): Promise<void>
  /** Resolves when Redis could serve again. */
  mend(): Promise<void>
  stop(): Promise<void>
}

export interface Experiment {
  readonly name: string
  readonly quick: boolean
  /** No check at all can be answered by Redis between `strike` and `mend`. */
  readonly total: boolean
  /** Checks per second, if not as many as the others have. */
  readonly perSecond?: number
  open(random: () => number): Promise<Scene>
}

const QUICK: readonly Fault[] = [
  "killed, and everything lost",
  "frozen (SIGSTOP)",
  "half-open",
  "slow (500 ms)",
  "replies dropped",
  "READONLY",
].map(faultNamed)

export const experiments: readonly Experiment[] = [
  ...singleFaults.map(onOneServer),
  // With little traffic the breaker cannot wait for a run of failures.
  {
    ...onOneServer(faultNamed("frozen (SIGSTOP)")),
    name: "frozen, 20 checks a second",
    quick: false,
    perSecond: 20,
  },
  {
    name: "slow (20 ms)",
    quick: false,
    total: false,
    async open(random) {
      const bed = await openBed({ random })
      return {
        url: bed.proxy.url,
        servers: [bed.redis],
        strike: async () => bed.proxy.delay(15, 10),
        mend: () => bed.proxy.pass(),
        stop: bed.stop,
      }
    },
  },
  {
    name: "SCRIPT FLUSH in a loop",
    quick: true,
    total: false,
    async open(random) {
      const bed = await openBed({ random })
      let flushing = false
      let loop: Promise<void> = Promise.resolve()
      return {
        url: bed.redis.url,
        servers: [bed.redis],
        async strike() {
          flushing = true
          const flush = async (): Promise<void> => {
            while (flushing) await bed.control.command("SCRIPT", "FLUSH")
          }
          loop = flush()
        },
        async mend() {
          flushing = false
          await loop
        },
        stop: bed.stop,
      }
    },
  },
  {
    name: "Sentinel: ordered fail-over",
    quick: false,
    total: false,
    async open() {
      const topology = await startSentinel()
      return {
        ...topology,
        strike: async () => void (await topology.failover()),
        // The old primary answers until it learns of the change, and then replies READONLY.
        mend: () => topology.settled(),
      }
    },
  },
  {
    name: "Sentinel: primary killed",
    quick: false,
    total: false,
    async open() {
      const topology = await startSentinel()
      let old: RedisServer | undefined
      return {
        ...topology,
        async strike() {
          old = await topology.killPrimary()
        },
        mend: async () => void (await topology.primaryOtherThan(old as RedisServer)),
      }
    },
  },
  {
    name: "Sentinel: primary frozen",
    quick: false,
    total: false,
    async open() {
      const topology = await startSentinel()
      let old: RedisServer | undefined
      return {
        ...topology,
        async strike() {
          old = await topology.primary()
          await old.pause()
        },
        mend: async () => void (await topology.primaryOtherThan(old as RedisServer)),
      }
    },
  },
  {
    name: "Cluster: hand-over to a replica",
    quick: false,
    total: false,
    async open() {
      const cluster = await startCluster()
      return {
        ...cluster,
        servers: cluster.nodes,
        strike: async () => void (await cluster.failover(keyslot(HOT))),
        mend: () => cluster.settled(),
      }
    },
  },
  {
    name: "Cluster: live reshard",
    quick: false,
    total: false,
    async open() {
      const cluster = await startCluster()
      const slot = keyslot(HOT)
      return {
        ...cluster,
        servers: cluster.nodes,
        async strike() {
          const target = await cluster.nodeForSlot((slot + SLOT_COUNT / 2) % SLOT_COUNT)
          await cluster.moveSlot(slot, target, { onOpen: aWhile, onHalfMoved: aWhile, onKeysMoved: aWhile })
        },
        mend: () => cluster.settled(),
      }
    },
  },
  {
    name: "Cluster: primary killed",
    quick: false,
    total: false,
    async open() {
      const cluster = await startCluster()
      let old: { port: number } | undefined
      return {
        ...cluster,
        servers: cluster.nodes,
        async strike() {
          old = await cluster.killPrimary(keyslot(HOT))
        },
        mend: async () => void (await cluster.ownerOtherThan(keyslot(HOT), old as { port: number })),
      }
    },
  },
  {
    name: "ring: one of three nodes killed",
    quick: false,
    total: false,
    async open() {
      const ring = await startRing(3)
      const victim = ring.servers[0] as RedisServer
      return { ...ring, strike: () => victim.kill(), mend: () => victim.restart() }
    },
  },
]

function onOneServer(fault: Fault): Experiment {
  return {
    name: fault.name,
    quick: QUICK.includes(fault),
    total: true,
    async open(random) {
      const bed = await openBed({ ...fault.bed, random })
      return {
        url: fault.proxied ? bed.proxy.url : bed.redis.url,
        servers: [bed.redis],
        strike: () => fault.strike(bed),
        mend: () => fault.mend(bed),
        stop: bed.stop,
      }
    },
  }
}

/** Long enough for a few hundred checks to meet each stage of a reshard. */
function aWhile(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 300))
}
