import type { OutboundRequest } from '../../src/client/session/session.js'
import { encodeArray } from '../../src/core/resp3/encode.js'
import { SimBroker } from './broker.js'
import type { ClientEnd, Setting } from './connection.js'

const encoder = new TextEncoder()
const UNKNOWN = encodeArray([encoder.encode('NOBODY-KNOWS'), encoder.encode('x')])

/** A broker whose store may support globs only in SCAN. */
export class GlobBroker extends SimBroker {
  readonly #native: boolean

  constructor(setting: Setting, native: boolean) {
    super(setting)
    this.#native = native
  }

  override publish(end: ClientEnd, request: OutboundRequest, acknowledged: () => void): void {
    const isKnown = this.#native || !new TextDecoder().decode(request.payload).includes('GLOBNOTIFY')
    super.publish(end, isKnown ? request : { ...request, payload: UNKNOWN }, acknowledged)
  }
}
