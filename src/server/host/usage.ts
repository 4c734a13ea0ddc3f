import type { Client } from '../../core/mqtt5/peer.js'
import type { Visits } from '../../node/net/connection-limiter.js'
import type { Authorizer } from '../access/authorizer.js'
import type { QuotaAccount } from '../broker/limits/quota-accounts.js'
import type { Engine } from '../engine/engine.js'

/** What one principal has of what there are quotas of; see {@link QuotaOptions}. */
export interface Usage {
  /** `is` and its id or user name; or `at` and an address, of those there who proved nothing. */
  readonly principal: string
  readonly connections: number
  readonly subscriptions: number
  readonly watches: number
  /** Keys that it wrote last, and bytes of them. */
  readonly keys: number
  readonly bytes: number
  /** Retained messages, and bytes of them. */
  readonly retained: number
  readonly retainedBytes: number
  /** What waits for its sessions whose client is away. */
  readonly waitingBytes: number
  /** How often one of its connections was read more slowly. */
  readonly pauses: number
  /** How often it was refused something of the broker. */
  readonly refused: number
}

/** What there is of one address, or of a network of 64 bits of IPv6; see {@link StoreServer.addresses}. */
export interface AddressUsage {
  readonly address: string
  /** Network connections, also of clients that are not let in. */
  readonly connections: number
  /** How many more were cut because there were too many, since one of these is there. */
  readonly refusedConnections: number
  /** Logins with wrong credentials, with less than ten minutes between two. Those that succeed meanwhile take none off. */
  readonly failedLogins: number
  /** How long its logins are not looked at for that, ms; but for names that have come in from there. */
  readonly pause: number
}

/** What there is of all that are connected, and of those that failed to log in. */
export function* addressesOf(
  visits: Iterable<[address: string, Visits]>,
  throttle: Authorizer['failedLogins'] | undefined,
): Iterable<AddressUsage> {
  const failures = new Map(throttle?.failures())
  for (const [address, { connections, refused: refusedConnections }] of visits) {
    const failedLogins = failures.get(address) ?? 0
    failures.delete(address)
    yield { address, connections, refusedConnections, failedLogins, pause: throttle?.pause(address) ?? 0 }
  }
  for (const [address, failedLogins] of failures)
    yield { address, connections: 0, refusedConnections: 0, failedLogins, pause: throttle?.pause(address) ?? 0 }
}

/** The usage of all that have something, or had lately. */
export function* usageOf(accounts: Iterable<QuotaAccount>, engine: Engine<Client>): Iterable<Usage> {
  const rest = new Map(engine.usage.entries())
  for (const account of accounts) {
    const { name, connections, subscriptions, retained, retainedBytes, waitingBytes, pauses } = account
    const { keys, bytes } = engine.usage.of(name)
    rest.delete(name)
    yield {
      principal: name,
      connections: connections.used,
      subscriptions: subscriptions.used,
      watches: engine.watchers.countOfOwner(name),
      keys,
      bytes,
      retained: retained.used,
      retainedBytes: retainedBytes.used,
      waitingBytes: waitingBytes.used,
      pauses,
      refused: connections.refused + subscriptions.refused + retained.refused + waitingBytes.refused,
    }
  }
  // Of those who have not been here since the start.
  for (const [principal, { keys, bytes }] of rest) yield { ...NO_USAGE, principal, keys, bytes }
}

const NO_USAGE: Omit<Usage, 'principal'> = {
  connections: 0,
  subscriptions: 0,
  watches: 0,
  keys: 0,
  bytes: 0,
  retained: 0,
  retainedBytes: 0,
  waitingBytes: 0,
  pauses: 0,
  refused: 0,
}
