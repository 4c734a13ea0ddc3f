import type { NatsConnection } from '@nats-io/transport-node'
import { filter, from } from 'rxjs'

/**
 * Cuts a connection that its client has found to be stale, so that another server is looked for. The client means to do so
 * itself, but first waits for an empty write, which is never done when the other end has not read for so long that the
 * system takes no more: it would stay with that server, and gather in memory what it sends, until TCP gives up.
 */
export function cutWhenStale(nats: NatsConnection): void {
  const statuses$ = from(nats.status()).pipe(filter(({ type }) => type === 'staleConnection'))
  // It ends with the connection, and without it nothing is worse than it was.
  statuses$.subscribe({ next: () => socketOf(nats)?.destroy(), error: () => undefined })
}

/** Closes a connection. One that it was about to make, to a server that hangs, it would leave open for ever. */
export async function closeWhole(nats: NatsConnection): Promise<void> {
  await nats.close()
  socketOf(nats)?.destroy()
}

interface Socket {
  destroy(): void
}

/** The socket of a connection, which has no public name. */
function socketOf(nats: NatsConnection): Socket | undefined {
  const socket = ['protocol', 'transport', 'socket'].reduce<unknown>(
    (inside, name) => (typeof inside === 'object' && inside !== null ? Reflect.get(inside, name) : undefined),
    nats,
  )
  return isSocket(socket) ? socket : undefined
}

const isSocket = (inside: unknown): inside is Socket =>
  typeof inside === 'object' && inside !== null && 'destroy' in inside && typeof inside.destroy === 'function'
