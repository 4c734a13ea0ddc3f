import type { Content } from '../../core/mqtt5/publish.js'
import { isPublishable } from '../../core/mqtt5/topic.js'
import { PROPERTY } from '../../core/protocol/properties.js'
import { toHex, utf8 } from '../../core/util/bytes.js'
import { isTopicName, responseRefusal } from '../service/access.js'

/** Who asks, or why that cannot be known; then with the property that is wrong. */
export type Identity =
  | { readonly clientId: string }
  | { readonly refused: string; readonly property: string; readonly value: string }
  /** The response topic is one over which some brokers end the connection of the client that publishes there. */
  | { readonly unanswerable: string }
  /** The answer would go to somebody else, or might, as far as it is known who asks: nobody gets one. */
  | { readonly impostor: string | undefined }

/** Those of known clients have eight. Mosquitto ends a connection over 202 and AWS over nine; others have their own limits. */
const MAX_RESPONSE_LEVELS = 16

const RESPONSE_TOPIC = /^clients\/([^/]+)\/services\/statestore\//

/**
 * Finds out who sent a request through a broker that does not say. Without a property it is whoever the response topic
 * belongs to, which holds as far as the broker lets nobody else subscribe and publish there; with one, whoever the broker
 * says in it, and the response topic has to belong to the same client. A client may send that property as well, so one that
 * comes twice is believed of nobody. `undefined`: there is nowhere to answer.
 *
 * @param vouched - user property in which the broker names the client
 */
export function identityOf(message: Content, vouched: string | undefined): Identity | undefined {
  const { responseTopic, userProperties } = message
  const [, owner] = RESPONSE_TOPIC.exec(responseTopic ?? '') ?? []
  if (responseTopic === undefined || owner === undefined || !isTopicName(responseTopic) || /[+#]/.test(responseTopic))
    return undefined
  if (!isPublishable(responseTopic, MAX_RESPONSE_LEVELS)) return { unanswerable: owner }
  if (vouched === undefined) return { clientId: nameOf(owner, userProperties[PROPERTY.sourceId]) }
  const value = userProperties[vouched]
  if (value === undefined)
    return {
      refused: `the broker has to say in the user property ${vouched} who a client is`,
      property: vouched,
      value: '',
    }
  if (typeof value !== 'string') return { impostor: undefined }
  return responseRefusal(value, responseTopic) === undefined ? { clientId: value } : { impostor: value }
}

/** Some clients have their response topic below the Base16 form of their id. */
function nameOf(owner: string, source: string | readonly string[] | undefined): string {
  const isHidden = typeof source === 'string' && toHex(utf8(source)) === owner.toUpperCase()
  return isHidden ? source : owner
}
