import { StateStoreError } from '../../../core/util/errors.js'

declare module '../../../core/util/errors.js' {
  interface ErrorCodes {
    /** A package that a part of this one needs is not installed. */
    'not-installed': true
  }
}

/** What is needed of the packages of NATS. */
export interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node')
  readonly jetstream: typeof import('@nats-io/jetstream')
  readonly objects: typeof import('@nats-io/obj')
}

/** Loads the packages of NATS, which nobody else needs. Rejects with `not-installed` when they are not there. */
export async function natsPackages(): Promise<NatsPackages> {
  try {
    const [transport, jetstream, objects] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
      import('@nats-io/obj'),
    ])
    return { transport, jetstream, objects }
  } catch (cause) {
    throw new StateStoreError(
      'not-installed',
      'a log in NATS JetStream needs the packages @nats-io/transport-node, @nats-io/jetstream and @nats-io/obj, version 3: ' +
        'npm install @nats-io/transport-node @nats-io/jetstream @nats-io/obj',
      { cause },
    )
  }
}
