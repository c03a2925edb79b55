// Random numbers that are the same in every run, so that all contenders see the same keys in the same order.

/**
 * A generator of numbers in [0, 1): a counter that goes through two rounds of multiply and shift.
 * @param {number} seed
 */
export function seededRandom(seed) {
  let counter = seed | 0
  return () => {
    counter = (counter + 0x6d2b79f5) | 0
    let x = counter
    x = Math.imul(x ^ (x >>> 16), 0x7feb352d)
    x = Math.imul(x ^ (x >>> 15), 0x846ca68b)
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32
  }
}

/**
 * The numbers 0 … count - 1 in random order.
 * @param {number} count
 * @param {() => number} random
 */
export function shuffled(count, random) {
  const order = Uint32Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const value = order[i]
    order[i] = order[j]
    order[j] = value
  }
  return order
}

/**
 * Draws from 0 … keys - 1 where the key of rank r comes up in proportion to 1 / r^exponent. Ranks are spread over the keys
 * at random: were the most used keys also the first inserted, they would lie side by side in memory.
 * @param {number} keys
 * @param {number} draws
 * @param {() => number} random
 */
export function zipf(keys, draws, random, exponent = 1) {
  const cumulative = new Float64Array(keys)
  let sum = 0
  for (let rank = 1; rank <= keys; rank++) {
    sum += 1 / rank ** exponent
    cumulative[rank - 1] = sum
  }
  const keyOfRank = shuffled(keys, random)
  const drawn = new Uint32Array(draws)
  for (let i = 0; i < draws; i++) {
    const target = random() * sum
    let low = 0
    let high = keys - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (cumulative[middle] > target) high = middle
      else low = middle + 1
    }
    drawn[i] = keyOfRank[low]
  }
  return drawn
}
