import Counter from 'prom-client/lib/counter.js'
import Gauge from 'prom-client/lib/gauge.js'
import Histogram from 'prom-client/lib/histogram.js'
import Registry from 'prom-client/lib/registry.js'
import { type HistogramName, METRICS, type MetricDefinition, type SampledName } from './definitions.js'

type Labels = Readonly<Record<string, string>>

export type Sample = readonly [value: number, labels?: Labels]

/** The current values of all counters and gauges. */
export type Samples = Readonly<Record<SampledName, readonly Sample[]>>

/** The observations of a histogram with one value of its label. */
export class Distribution {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #count = 0
  #sum = 0

  /** @param bounds - upper bounds of the buckets */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#count++
    this.#sum += value
    for (let i = 0; i < this.#bounds.length; i++) {
      if (value > (this.#bounds[i] ?? 0)) continue
      this.#counts[i] = (this.#counts[i] ?? 0) + 1
      return
    }
  }

  /** Returns the samples of the text format, whose buckets are cumulative. */
  samples(name: string, labels: Labels) {
    let below = 0
    const buckets = this.#counts.map((count, i) => {
      below += count
      return { metricName: `${name}_bucket`, labels: { ...labels, le: String(this.#bounds[i]) }, value: below }
    })
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: this.#count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: this.#count },
    ]
  }
}

/** A histogram of the client library whose observations are counted by a {@link Distribution} for each label. */
class DistributionHistogram extends Histogram {
  readonly #definition: MetricDefinition
  readonly #name: string
  readonly #distributions = new Map<string, Distribution>()

  constructor(name: string, definition: MetricDefinition, registers: Registry[]) {
    super({ name, help: definition.help, labelNames: [...definition.labels], registers })
    this.#name = name
    this.#definition = definition
  }

  distribution(label: string): Distribution {
    const distribution = this.#distributions.get(label) ?? new Distribution(this.#definition.buckets ?? [])
    this.#distributions.set(label, distribution)
    return distribution
  }

  /** The registry calls this method, which the types of the library do not have. */
  getForPromString() {
    const { help, labels } = this.#definition
    const [label] = labels
    const values = [...this.#distributions].flatMap(([value, distribution]) =>
      distribution.samples(this.#name, label === undefined ? {} : { [label]: value }),
    )
    return { name: this.#name, help, type: 'histogram', values, aggregator: 'sum' }
  }
}

/**
 * The registry of the client library. The library only formats: metrics get their values when they are scraped, because
 * an increment or observation of the library for each request would be too slow.
 */
export class MetricsRegistry {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #registry = new Registry()
  readonly #sampled = new Map<string, Counter | Gauge>()
  readonly #histograms = new Map<string, DistributionHistogram>()

  constructor() {
    const registers = [this.#registry]
    for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
      const { help, labels, type } = definition
      const configuration = { name, help, labelNames: [...labels], registers }
      if (type === 'counter') this.#sampled.set(name, new Counter(configuration))
      else if (type === 'gauge') this.#sampled.set(name, new Gauge(configuration))
      else this.#histograms.set(name, new DistributionHistogram(name, definition, registers))
    }
  }

  /** @param label - value of the label, if the histogram has one */
  distribution(name: HistogramName, label = ''): Distribution {
    return this.#histograms.get(name)?.distribution(label) ?? new Distribution([])
  }

  /** Returns all metrics in the text format of Prometheus. Those without samples have only a type. */
  async expose(samples: Partial<Samples>): Promise<string> {
    const values = new Map<string, readonly Sample[]>(Object.entries(samples))
    for (const [name, metric] of this.#sampled) {
      metric.reset()
      const own = values.get(name) ?? []
      // A metric without labels is 0 after a reset.
      if (own.length === 0) metric.remove({})
      for (const [value, labels = {}] of own) metric.inc(labels, value)
    }
    return this.#registry.metrics()
  }
}
