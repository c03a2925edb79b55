/**
 * The middle value, or the mean of the two in the middle.
 * @param {readonly number[]} values
 */
export function median(values) {
  if (values.length === 0) throw new RangeError("the median of nothing")
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >>> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Half the distance between the quartiles, as a share of the median: how far a typical round is from the figure shown.
 * @param {readonly number[]} values
 */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const low = sorted[Math.floor((sorted.length - 1) * 0.25)]
  const high = sorted[Math.ceil((sorted.length - 1) * 0.75)]
  return (high - low) / 2 / median(values)
}

/**
 * The value that this share of all values does not exceed.
 * @param {readonly number[]} values
 * @param {number} share
 */
export function percentile(values, share) {
  if (values.length === 0) throw new RangeError("a percentile of nothing")
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

/** @param {readonly number[]} values */
export function mean(values) {
  if (values.length === 0) throw new RangeError("the mean of nothing")
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/**
 * How far the mean of so many values is from that of all there could be, typically. Not a number for a single value.
 * @param {readonly number[]} values
 */
export function standardError(values) {
  const middle = mean(values)
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0)
  return Math.sqrt(squares / (values.length - 1) / values.length)
}
