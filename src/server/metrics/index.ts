import { checkOptionNames, type OptionNames } from '../../core/util/check.js'
import { checkValues, port, text } from '../../core/util/options.js'
import { packageVersion } from '../../node/package-files.js'
import type { AttachedStore } from '../attach/attached-store.js'
import type { StoreServer } from '../host/store-server.js'
import { type MetricsOptions, MetricsServer } from './metrics-server.js'

export type { MetricsOptions, MetricsServer } from './metrics-server.js'

const NAMES: OptionNames<MetricsOptions> = { host: true, port: true, token: true, tls: true }

/**
 * Serves a store's metrics for Prometheus (`/metrics`) and its health (`/livez`, `/readyz`, `/healthz`), by
 * default on `127.0.0.1:9464`. Counters begin with this call and count all stores of the process, so call it before
 * clients connect, and once in a process. A store at another broker has no metrics of connections, sessions and
 * messages. Rejects with the system's error if the port is in use, and with {@link ArgumentError} for an invalid or
 * missing option.
 *
 * @example
 * ```ts
 * await using store = await serve({ port: 0, wsPort: 0 })
 * await using metrics = await serveMetrics(store, { port: 0 })
 * console.log(`${metrics.url}metrics`)
 * ```
 */
export async function serveMetrics(
  store: StoreServer | AttachedStore,
  options: MetricsOptions = {},
): Promise<MetricsServer> {
  checkOptionNames('serveMetrics', options, NAMES)
  checkValues({ host: { kind: text('<address>') }, port: { kind: port } }, options)
  return MetricsServer.start(store, packageVersion(), options)
}
