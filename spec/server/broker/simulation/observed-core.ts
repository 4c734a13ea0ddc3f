import { BrokerCore } from '../../../../src/server/broker/core/broker-core.js'
import type { Message } from '../../../../src/server/broker/routing/delivery.js'
import type { Session } from '../../../../src/server/broker/session/session.js'
import type { Oracle } from './oracle.js'

/** A broker whose messages are seen before anybody gets them. */
export class ObservedCore extends BrokerCore {
  oracle: Oracle | undefined
  /** Has everything looked at that was written. */
  flush: () => void = () => undefined

  override publish(message: Message, from: Session | undefined): number | undefined {
    this.oracle?.publishing(message)
    const receivers = super.publish(message, from)
    this.flush()
    if (receivers === undefined) this.oracle?.refused(message)
    return receivers
  }
}
