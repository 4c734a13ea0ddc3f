import { defer, from, Observable } from 'rxjs'
import { type Clock, systemClock } from '../../../core/util/clock.js'
import { ArgumentError } from '../../../core/util/errors.js'
import type { SharedLog } from '../cluster/settings.js'
import type { Stream } from '../cluster/stream.js'
import { cannotConnect, connectTo, isFinal, type JetStreamConnection, prepare, streamError } from './connection.js'
import { NatsStream } from './nats-stream.js'
import { type JetStreamOptions, type JetStreamSettings, settingsFrom } from './options.js'
import { type NatsPackages, natsPackages } from './packages.js'

export type { SharedLog } from '../cluster/settings.js'
export type { JetStreamOptions } from './options.js'

/** A connection that did not come about is tried again after this, ms. */
const RETRY = 500

/**
 * A log in NATS JetStream, which the nodes of a store share: each `serve` with such a log is a node, has all keys, and
 * answers a write when a quorum of NATS servers has it. Needs the packages `@nats-io/transport-node`, `@nats-io/jetstream` and
 * `@nats-io/obj`; `serve` rejects with `not-installed` without them, and with `connection-lost` when no server can be used.
 * Throws `argument` for options that are none.
 *
 * @example
 * ```ts
 * const log = jetStreamLog({ servers: ['nats://a:4222', 'nats://b:4222', 'nats://c:4222'], name: 'plant-1', nodeId: 'n1' })
 * const store = await serve({ log })
 * ```
 */
export function jetStreamLog(options: JetStreamOptions): SharedLog {
  const settings = settingsFrom(options)
  const { name, nodeId, reads, stallTimeout, keys, skip } = settings
  return {
    name,
    settings: { nodeId, reads, stallTimeout, keys, skip },
    connect: () => defer(() => from(natsPackages())).pipe(source => openWith(source, settings, systemClock)),
  }
}

const openWith = (packages$: Observable<NatsPackages>, settings: JetStreamSettings, clock: Clock): Observable<Stream> =>
  new Observable(subscriber => {
    const give = clock.monotonic() + settings.connectTimeout
    let cancel = (): void => undefined
    const attempt = async (packages: NatsPackages): Promise<void> => {
      try {
        const opened = await open(settings, packages)
        if (subscriber.closed) {
          await opened.nats.close()
          return
        }
        subscriber.next(new NatsStream(opened, packages))
        subscriber.complete()
      } catch (error) {
        if (isFinal(error))
          subscriber.error(error instanceof ArgumentError ? error : streamError('NATS cannot be used', error))
        else if (clock.monotonic() >= give) subscriber.error(cannotConnect(settings, error))
        else cancel = clock.schedule(RETRY, () => void attempt(packages))
      }
    }
    const loading = packages$.subscribe({ next: packages => void attempt(packages), error: e => subscriber.error(e) })
    return () => {
      loading.unsubscribe()
      cancel()
    }
  })

async function open(settings: JetStreamSettings, packages: NatsPackages): Promise<JetStreamConnection> {
  const nats = await connectTo(settings, packages)
  try {
    return await prepare(nats, settings, packages)
  } catch (error) {
    await nats.close()
    throw error
  }
}
