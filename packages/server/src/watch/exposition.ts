// The text format of Prometheus, by hand: a dozen lines, and nothing on the path of a decision.

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

  /** A metric with one sample and no labels. */
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
