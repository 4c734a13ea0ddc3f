import { onTestFinished } from 'vitest'
import type { AttachedStore, StoreServer } from '../../../src/server/index.js'
import { type MetricsOptions, type MetricsServer, serveMetrics } from '../../../src/server/metrics/index.js'

/** A parsed exposition. */
export class Exposition {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Returns the value of a sample, such as `name{label="value"}`, or 0 if it is absent. */
  value(sample: string): number {
    const line = this.text.split('\n').find(each => each.startsWith(`${sample} `))
    return line === undefined ? 0 : Number(line.slice(sample.length + 1))
  }

  /** Returns the names of all metrics. */
  get names(): readonly string[] {
    return Array.from(this.text.matchAll(/^# TYPE (\S+) /gm), ([, name = '']) => name)
  }
}

/** Serves metrics on a free port until the end of the test. */
export async function openMetrics(
  store: StoreServer | AttachedStore,
  options: MetricsOptions = {},
): Promise<MetricsServer> {
  const metrics = await serveMetrics(store, { port: 0, ...options })
  onTestFinished(async () => metrics.close())
  return metrics
}

export async function scrape({ url }: MetricsServer, token?: string): Promise<Exposition> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(new URL('metrics', url), { headers })
  if (!response.ok) throw new Error(`scraping failed with status ${response.status}`)
  return new Exposition(await response.text())
}
