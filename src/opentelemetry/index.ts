import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api'
import { subscribe } from '../core/diagnostics/index.js'
import { ClientSpans } from './client-spans.js'
import { Counts, type Gauge, observeGauges } from './gauges.js'
import { StoreSpans } from './store-spans.js'

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** Whether spans have keys and globs, in `db.query.text` and in messages of errors. Default: `false`. */
  readonly keys?: boolean | undefined
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Default: the global one. */
  readonly meterProvider?: MeterProvider | undefined
}

const SCOPE = 'rx-statestore'

/**
 * Reports the requests, notifications, connections and watches of all clients and stores of the process or page to
 * OpenTelemetry, until the returned function is called. Call it once, after the SDK was set up and before the first
 * client connects. Requires `@opentelemetry/api`.
 *
 * @example
 * ```ts
 * const stop = instrument({ keys: true })
 * ```
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  const { keys = false, tracerProvider = trace, meterProvider = metrics } = options
  const tracer = tracerProvider.getTracer(SCOPE)
  const meter = meterProvider.getMeter(SCOPE)
  const client = new ClientSpans(tracer, meter, keys)
  const store = new StoreSpans(tracer, keys)
  const counts = new Counts()
  const ends = [
    subscribe('tracing:rx-statestore:request:start', request => client.start(request)),
    subscribe('tracing:rx-statestore:request:asyncEnd', request => client.end(request)),
    subscribe('rx-statestore:watch', event => client.notification(event)),
    subscribe('tracing:rx-statestore:server:request:start', request => store.start(request)),
    subscribe('tracing:rx-statestore:server:request:end', request => store.called(request)),
    subscribe('tracing:rx-statestore:server:request:asyncStart', request => store.logged(request)),
    subscribe('tracing:rx-statestore:server:request:asyncEnd', request => store.end(request)),
    subscribe('rx-statestore:connection', event => counts.connection(event)),
    subscribe('rx-statestore:watch', event => counts.watch(event)),
    subscribe('rx-statestore:server:connection', event => counts.serverConnection(event)),
    observeGauges(meter, gaugesOf(client, store, counts)),
  ]
  return () => {
    for (const end of ends.splice(0)) end()
    client.close()
    store.close()
  }
}

const gaugesOf = (client: ClientSpans, store: StoreSpans, counts: Counts): readonly Gauge[] => [
  {
    name: 'rx_statestore.client.connections',
    description: 'Clients that are connected',
    unit: '{connection}',
    observe: result => result.observe(counts.connected),
  },
  {
    name: 'rx_statestore.client.watches',
    description: 'Watched keys by freshness',
    unit: '{key}',
    observe: result => {
      for (const [freshness, count] of counts.watches) result.observe(count, { freshness })
    },
  },
  {
    name: 'rx_statestore.client.pending_requests',
    description: 'Requests that wait for the connection or for their response',
    unit: '{request}',
    observe: result => result.observe(client.pending),
  },
  {
    name: 'rx_statestore.server.connections',
    description: 'Connections of authenticated clients to the broker',
    unit: '{connection}',
    observe: result => result.observe(counts.serverConnections),
  },
  {
    name: 'rx_statestore.server.pending_requests',
    description: 'Requests that wait for the log of the store',
    unit: '{request}',
    observe: result => result.observe(store.pending),
  },
]
