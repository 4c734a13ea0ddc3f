import { PacketError } from '../../../core/mqtt5/packet-error.js'
import type { Connect, Will } from '../../../core/mqtt5/packets.js'
import type { Client } from '../../../core/mqtt5/peer.js'
import * as REASON from '../../../core/mqtt5/reason-codes.js'
import type { Budget } from '../limits/budget.js'
import { LIMIT } from '../limits/limits.js'
import { ownContent, sizeOf } from '../routing/delivery.js'
import { Authentication } from './authentication.js'
import type { Host } from './host.js'
import type { Link } from './link.js'
import { Outbound, type OutboundPeer } from './outbound.js'

const NO_PROPERTIES = {}
/** A CONNECT has its bytes, and the texts that were made of them. */
const GREETING_COST = 3

/** Somebody who said CONNECT, and is or is not let in. */
export interface Guest {
  readonly connect: Connect
  readonly outbound: Outbound
  readonly authentication: Authentication
}

/** A guest who wants to be spoken to as its CONNECT says. */
export const guestOf = (connect: Connect, link: Link, host: Host<never>, peer: Client & OutboundPeer): Guest => ({
  connect,
  outbound: new Outbound(link, host, peer, connect),
  authentication: new Authentication(host.handler, peer, link, connect),
})

/** The id of a client, made up if it has none. Raises {@link PacketError} when it is too long. */
export function clientIdOf({ clientId }: Connect): string {
  if (clientId.length > LIMIT.clientId)
    throw new PacketError(REASON.clientIdentifierNotValid, `a client id has at most ${LIMIT.clientId} characters`)
  return clientId === '' ? globalThis.crypto.randomUUID() : clientId
}

/**
 * The last will of a client, to be kept for as long as it is connected, and longer. Raises {@link PacketError} when it must
 * not be published, or there is no room for it.
 */
export function willOf({ will }: Connect, client: Client, { handler, budget }: Host<never>): Will | undefined {
  if (will === undefined) return undefined
  const refusal = handler.refuse(client, will)
  if (refusal) throw new PacketError(refusal.disconnect ?? REASON.notAuthorized, `the last will: ${refusal.reason}`)
  if (!budget.take(willSize(will))) throw new PacketError(REASON.quotaExceeded, 'there is no room for a last will')
  const { payload, correlationData, carried } = ownContent({ ...will, userProperties: NO_PROPERTIES })
  return { ...will, payload, correlationData, carried: carried ?? will.carried }
}

/** What a last will counts, bytes: its user properties are there as texts as well. */
export const willSize = ({ topic, payload, carried }: Will): number =>
  sizeOf({ topic, content: { payload, carried } }) + 2 * carried.length

/**
 * What a CONNECT counts for as long as its connection lasts, as much may be said in it, bytes. Raises {@link PacketError}
 * when there is no room.
 */
export function keepGreeting({ length }: Uint8Array, budget: Budget): number {
  if (length <= LIMIT.freeConnect) return 0
  if (!budget.take(GREETING_COST * length))
    throw new PacketError(REASON.quotaExceeded, 'the broker has no room for a CONNECT of this size')
  return GREETING_COST * length
}
