// Writes the text format of Prometheus.

import type { Histogram } from "./histogram.js"

export type MetricType = "counter" | "gauge" | "histogram"

export type Labels = Readonly<Record<string, string | number>>

export class Exposition {
  readonly #lines: string[] = []

  metric(name: string, type: MetricType, help: string): this {
    this.#lines.push(
      `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`,
      `# TYPE ${name} ${type}`,
    )
    return this
  }

  sample(name: string, value: number, labels: Labels = {}): this {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
    this.#lines.push(`${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`)
    return this
  }

  /** Writes the samples of a histogram of durations, in seconds. */
  durations(name: string, durations: Histogram, labels: Labels = {}): this {
    return this.histogram(name, durations, labels, 1000)
  }

  /** Writes the samples of a histogram. Bounds and sum are divided by `divisor`. */
  histogram(name: string, { bounds, counts, count, sum }: Histogram, labels: Labels, divisor = 1): this {
    let below = 0
    bounds.forEach((bound, i) => {
      below += counts[i] as number
      this.sample(`${name}_bucket`, below, { ...labels, le: bound / divisor })
    })
    this.sample(`${name}_bucket`, count, { ...labels, le: "+Inf" })
    return this.sample(`${name}_sum`, sum / divisor, labels).sample(`${name}_count`, count, labels)
  }

  /** Writes a metric with one sample and no labels. */
  single(name: string, type: MetricType, help: string, value: number | undefined): this {
    return value === undefined ? this : this.metric(name, type, help).sample(name, value)
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`
  }
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf"
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)
}
