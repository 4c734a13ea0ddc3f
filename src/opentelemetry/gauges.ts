import type { Attributes, Meter, ObservableResult } from '@opentelemetry/api'
import type { ClientWatchEvent, ConnectionEvent } from '../core/diagnostics/client-events.js'
import type { ServerConnectionEvent } from '../core/diagnostics/server-events.js'

/** Counts of connections and watches, from the events that change them. */
export class Counts {
  readonly #connected = new Set<string>()
  readonly #watches = new Map<string, number>()
  #serverConnections = 0

  connection({ type, clientId }: ConnectionEvent): void {
    if (type === 'connected') this.#connected.add(clientId)
    else this.#connected.delete(clientId)
  }

  watch(event: ClientWatchEvent): void {
    if (event.type !== 'freshness') return
    this.#addWatches(event.from, -1)
    this.#addWatches(event.to, 1)
  }

  /** Ignores the end of a connection that was opened before this counter started. */
  serverConnection(event: ServerConnectionEvent): void {
    if (event.type === 'opened') this.#serverConnections++
    if (event.type === 'closed' && event.isAdmitted && this.#serverConnections > 0) this.#serverConnections--
  }

  get connected(): number {
    return this.#connected.size
  }

  get serverConnections(): number {
    return this.#serverConnections
  }

  get watches(): Iterable<[freshness: string, count: number]> {
    return this.#watches
  }

  #addWatches(freshness: string | undefined, count: number): void {
    if (freshness !== undefined) this.#watches.set(freshness, Math.max(0, (this.#watches.get(freshness) ?? 0) + count))
  }
}

export interface Gauge {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly observe: (result: ObservableResult<Attributes>) => void
}

/** Creates gauges; the returned function removes them. */
export function observeGauges(meter: Meter, gauges: readonly Gauge[]): () => void {
  const removals = gauges.map(({ name, description, unit, observe }) => {
    const gauge = meter.createObservableUpDownCounter(name, { description, unit })
    gauge.addCallback(observe)
    return () => gauge.removeCallback(observe)
  })
  return () => {
    for (const remove of removals) remove()
  }
}
