import { StateStoreError } from '../../../core/util/errors.js'

declare module '../../../core/util/errors.js' {
  interface ErrorCodes {
    /** An optional package that a feature requires is not installed. */
    'not-installed': true
  }
}

export interface NatsPackages {
  readonly transport: typeof import('@nats-io/transport-node')
  readonly jetstream: typeof import('@nats-io/jetstream')
  readonly objects: typeof import('@nats-io/obj')
}

/** Loads the NATS packages. Rejects with `not-installed` if they are missing. */
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
      'a log in NATS JetStream requires the packages @nats-io/transport-node, @nats-io/jetstream and @nats-io/obj, version 3: ' +
        'npm install @nats-io/transport-node @nats-io/jetstream @nats-io/obj',
      { cause },
    )
  }
}
