import { defer, from, Observable } from 'rxjs'
import { type Clock, systemClock } from '../../../core/util/clock.js'
import { ArgumentError } from '../../../core/util/errors.js'
import type { SharedLog } from '../cluster/settings.js'
import type { Stream } from '../cluster/stream.js'
import {
  connectTimeoutError,
  connectToNats,
  isPermanentError,
  type JetStreamConnection,
  prepareStream,
  streamError,
} from './connection.js'
import { NatsStream } from './nats-stream.js'
import { type JetStreamOptions, type JetStreamSettings, parseOptions } from './options.js'
import { type NatsPackages, natsPackages } from './packages.js'

export type { SharedLog } from '../cluster/settings.js'
export type { JetStreamOptions } from './options.js'

const RETRY_DELAY_MS = 500

/**
 * Creates a log in NATS JetStream that the nodes of a store share. Each `serve` with such a log is a node, which has
 * all keys and responds to a write when a quorum of NATS servers has stored the write. Requires the packages
 * `@nats-io/transport-node`, `@nats-io/jetstream` and `@nats-io/obj`. Without these packages, `serve` rejects with
 * `not-installed`. It rejects with `connection-lost` if no server is usable.
 *
 * Throws `argument` for invalid options.
 *
 * @example
 * ```ts
 * const log = jetStreamLog({
 *   servers: ['nats://a:4222', 'nats://b:4222', 'nats://c:4222'],
 *   name: 'plant-1',
 *   nodeId: 'n1',
 * })
 * const store = await serve({ log })
 * ```
 */
export function jetStreamLog(options: JetStreamOptions): SharedLog {
  const settings = parseOptions(options)
  const { name, nodeId, reads, stallTimeout, keys, skip } = settings
  return {
    name,
    settings: { nodeId, reads, stallTimeout, keys, skip },
    connect: () => defer(() => from(natsPackages())).pipe(source => openStream(source, settings, systemClock)),
  }
}

const openStream = (
  packages$: Observable<NatsPackages>,
  settings: JetStreamSettings,
  clock: Clock,
): Observable<Stream> =>
  new Observable(subscriber => {
    const deadline = clock.monotonic() + settings.connectTimeout
    let cancel = (): void => undefined
    const attempt = async (packages: NatsPackages): Promise<void> => {
      try {
        const connection = await openConnection(settings, packages)
        if (subscriber.closed) {
          await connection.nats.close()
          return
        }
        subscriber.next(new NatsStream(connection, packages))
        subscriber.complete()
      } catch (error) {
        if (isPermanentError(error))
          subscriber.error(error instanceof ArgumentError ? error : streamError('NATS cannot be used', error))
        else if (clock.monotonic() >= deadline) subscriber.error(connectTimeoutError(settings, error))
        else cancel = clock.schedule(RETRY_DELAY_MS, () => void attempt(packages))
      }
    }
    const loading = packages$.subscribe({ next: packages => void attempt(packages), error: e => subscriber.error(e) })
    return () => {
      loading.unsubscribe()
      cancel()
    }
  })

async function openConnection(settings: JetStreamSettings, packages: NatsPackages): Promise<JetStreamConnection> {
  const nats = await connectToNats(settings, packages)
  try {
    return await prepareStream(nats, settings, packages)
  } catch (error) {
    await nats.close()
    throw error
  }
}
