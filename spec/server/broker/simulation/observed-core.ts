import { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import type { Session } from '../../../../src/server/broker/session/session.js'
import type { Oracle } from './oracle.js'

/** A broker that reports messages to the oracle before routing them. */
export class ObservedCore extends BrokerCore {
  oracle: Oracle | undefined
  flush: () => void = () => undefined

  override publish(message: Message, from: Session | undefined): number | undefined {
    this.oracle?.onPublished(message)
    const receivers = super.publish(message, from)
    this.flush()
    if (receivers === undefined) this.oracle?.onRetainRejected(message)
    return receivers
  }
}
