import { describe, expect, it } from "vitest"
import { HashRing, type RingNode, ringHash } from "./hash-ring.js"

const KEYS = 30_000

const nodeNames: Record<string, (i: number) => string> = {
  "hosts and ports": (i) => `10.0.0.${i}:6379`,
  "ports of one host": (i) => `127.0.0.1:${7000 + i}`,
  numbers: (i) => String(i),
}

const keyShapes: Record<string, (i: number) => string> = {
  "user numbers": (i) => `user:${i}`,
  "IPv4 addresses": (i) => `${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}.7`,
  "plain numbers": (i) => String(i),
}

const shapes = Object.entries(nodeNames).flatMap(([nodes, name]) =>
  Object.entries(keyShapes).map(([keys, key]) => ({ nodes, name, keys, key })),
)

function nodesOf(name: (i: number) => string, count: number): RingNode[] {
  return Array.from({ length: count }, (_, i) => ({ name: name(i) }))
}

/** The name of the owner of every key. */
function owners(nodes: readonly RingNode[], keyOf: (i: number) => string, keys = KEYS): string[] {
  const ring = new HashRing(nodes)
  return Array.from({ length: keys }, (_, i) => nodes[ring.locate(keyOf(i))]?.name as string)
}

describe.each(shapes)("$nodes as nodes, $keys as keys", ({ name, key }) => {
  // 1 to 10 nodes, each with the ring of one node fewer before it.
  const rings = Array.from({ length: 10 }, (_, i) => owners(nodesOf(name, i + 1), key))

  it("a node that joins as one of N takes at most 1.3/N of the keys, and nothing else moves", () => {
    for (let n = 2; n <= 10; n++) {
      const before = rings[n - 2] as string[]
      const after = rings[n - 1] as string[]
      const moved = after.filter((owner, i) => owner !== before[i])
      expect(new Set(moved)).toEqual(new Set([name(n - 1)]))
      expect(moved.length).toBeLessThanOrEqual((1.3 / n) * KEYS)
    }
  })

  it("the fullest node holds at most 1.25 times the mean", () => {
    rings.forEach((owners, i) => {
      const counts = new Map<string, number>()
      for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1)
      expect(counts.size).toBe(i + 1)
      expect(Math.max(...counts.values())).toBeLessThanOrEqual((1.25 * KEYS) / (i + 1))
    })
  })

  it("a node that leaves moves its own keys only, and not all to one", () => {
    const before = rings[4] as string[]
    const gone = name(1)
    const after = owners(
      nodesOf(name, 5).filter((node) => node.name !== gone),
      key,
    )
    const moved = after.filter((owner, i) => owner !== before[i])
    expect(moved.length).toBe(before.filter((owner) => owner === gone).length)
    expect(new Set(moved).size).toBe(4)
  })
})

describe("the ring", () => {
  const name = (i: number) => `redis-${i}`
  const key = (i: number) => `key ${i}`

  it("does not depend on the order of the nodes", () => {
    const nodes = nodesOf(name, 7)
    const expected = owners(nodes, key, 10_000)
    expect(owners([...nodes].reverse(), key, 10_000)).toEqual(expected)
    expect(owners([...nodes.slice(3), ...nodes.slice(0, 3)], key, 10_000)).toEqual(expected)
  })

  it("gives a node twice as heavy twice the keys, and growing moves keys to it only", () => {
    const even = owners(nodesOf(name, 4), key)
    const heavier = owners([{ name: name(0), weight: 2 }, ...nodesOf(name, 4).slice(1)], key)
    const share = heavier.filter((owner) => owner === name(0)).length / KEYS
    expect(share).toBeGreaterThan(0.4 * 0.9)
    expect(share).toBeLessThan(0.4 * 1.1)
    expect(new Set(heavier.filter((owner, i) => owner !== even[i]))).toEqual(new Set([name(0)]))
  })

  it("keeps a node of hardly any weight on it", () => {
    const ring = new HashRing([{ name: "a" }, { name: "b", weight: 0.000_1 }], 4)
    expect(new Set(Array.from({ length: KEYS }, (_, i) => ring.locate(key(i))))).toEqual(new Set([0, 1]))
  })

  it("wraps around: keys after the last point belong to the first", () => {
    const nodes = nodesOf(name, 2)
    const ring = new HashRing(nodes, 1)
    const points = nodes.map((node) => ringHash(`${node.name}#0`))
    const first = points.indexOf(Math.min(...points))
    const hashes = Array.from({ length: 1_000 }, (_, i) => ({ key: key(i), hash: ringHash(key(i)) }))
    const behind = hashes.filter(({ hash }) => hash > Math.max(...points))
    const between = hashes.filter(({ hash }) => hash > Math.min(...points) && hash <= Math.max(...points))
    expect(behind.length).toBeGreaterThan(0)
    expect(between.length).toBeGreaterThan(0)
    expect(new Set(behind.map(({ key }) => ring.locate(key)))).toEqual(new Set([first]))
    expect(new Set(between.map(({ key }) => ring.locate(key)))).toEqual(new Set([1 - first]))
  })

  it("puts a key on the point it falls on", () => {
    const nodes = nodesOf(name, 5)
    const ring = new HashRing(nodes)
    nodes.forEach((node, i) => {
      for (let point = 0; point < 10; point++) expect(ring.locate(`${node.name}#${point}`)).toBe(i)
    })
  })

  it("decides coinciding points by name, not by place in the list", () => {
    // Two names whose single points coincide, found by search.
    const seen = new Map<number, string>()
    let pair: [string, string] | undefined
    for (let i = 0; pair === undefined; i++) {
      const hash = ringHash(`node ${i}#0`)
      const other = seen.get(hash)
      if (other !== undefined) pair = [other, `node ${i}`]
      seen.set(hash, `node ${i}`)
    }
    const nodes = pair.map((name) => ({ name }))
    const smaller = [...pair].sort()[0]
    for (const list of [nodes, [...nodes].reverse()]) {
      const ring = new HashRing(list, 1)
      expect(list[ring.locate("any key")]?.name).toBe(smaller)
    }
  })
})

describe("the hash", () => {
  it("is the same in every version: a change here would move nearly all keys of every fleet", () => {
    const texts = ["", "a", "b", "user:42", "10.0.0.1:6379#0", "漢字", "😀", "a\ud83d", "x".repeat(1_000)]
    expect(texts.map(ringHash)).toEqual([
      2462723854, 590685143, 1514058539, 1807879164, 313627692, 1919024283, 3948285933, 1312301997,
      1630022893,
    ])
    const ring = new HashRing(nodesOf((i) => `10.0.0.${i}:6379`, 5))
    const nodes = Array.from({ length: 20 }, (_, i) => ring.locate(`user:${i}`)).join("")
    expect(nodes).toBe("02132311112321423224")
  })

  it("changes every bit of its result half of the time when one bit of the text changes", () => {
    const flips = new Array<number>(32).fill(0)
    let pairs = 0
    for (let i = 0; i < 500; i++) {
      const text = `client-${i}`
      const hash = ringHash(text)
      for (let at = 0; at < text.length; at++) {
        for (let bit = 0; bit < 16; bit++) {
          const other =
            text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << bit)) + text.slice(at + 1)
          const changed = hash ^ ringHash(other)
          for (let b = 0; b < 32; b++) flips[b] = (flips[b] as number) + ((changed >>> b) & 1)
          pairs++
        }
      }
    }
    for (const count of flips) {
      expect(count / pairs).toBeGreaterThan(0.48)
      expect(count / pairs).toBeLessThan(0.52)
    }
  })

  it("collides no more often than a random function", () => {
    const hashes = new Set<number>()
    for (let i = 0; i < 200_000; i++) hashes.add(ringHash(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`))
    // 200,000 of 2^32 at random: 4.7 pairs expected.
    expect(200_000 - hashes.size).toBeLessThan(20)
  })
})
