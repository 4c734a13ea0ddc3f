import type { Client } from '../../core/mqtt5/peer.js'
import type { AddressConnections } from '../../node/net/connection-limiter.js'
import type { Authorizer } from '../access/authorizer.js'
import type { QuotaAccount } from '../broker/limits/quota-accounts.js'
import type { Engine } from '../engine/engine.js'

/** The usage of one principal for each quota. See {@link QuotaOptions}. */
export interface Usage {
  /** The principal: `is` and the id or user name or, for anonymous clients, `at` and their address. */
  readonly principal: string
  readonly connections: number
  readonly subscriptions: number
  readonly watches: number
  /** The number of keys last written by the principal, and their bytes. */
  readonly keys: number
  readonly bytes: number
  readonly retained: number
  readonly retainedBytes: number
  /** The bytes queued for offline sessions of the principal. */
  readonly waitingBytes: number
  /** The number of times that reading from one of the principal's connections was slowed down. */
  readonly pauses: number
  /** The number of rejections by the broker because of a quota. */
  readonly refused: number
}

/** The usage of one address, or of one IPv6 /64 network. */
export interface AddressUsage {
  readonly address: string
  /** The number of network connections, unauthenticated connections included. */
  readonly connections: number
  /** The number of connections refused because of a limit while at least one connection from this address was open. */
  readonly refusedConnections: number
  /**
   * The number of logins with wrong credentials that were less than ten minutes apart. Successful logins in between are
   * not subtracted.
   */
  readonly failedLogins: number
  /**
   * The time in ms for which further logins are rejected. User names that have logged in from this address before are
   * exempt.
   */
  readonly pause: number
}

export function* addressesOf(
  connectionsByAddress: Iterable<[address: string, AddressConnections]>,
  throttle: Authorizer['failedLogins'] | undefined,
): Iterable<AddressUsage> {
  const failures = new Map(throttle?.failures())
  for (const [address, { connections, refused: refusedConnections }] of connectionsByAddress) {
    const failedLogins = failures.get(address) ?? 0
    failures.delete(address)
    yield { address, connections, refusedConnections, failedLogins, pause: throttle?.pause(address) ?? 0 }
  }
  for (const [address, failedLogins] of failures)
    yield { address, connections: 0, refusedConnections: 0, failedLogins, pause: throttle?.pause(address) ?? 0 }
}

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
  // The remaining principals have keys that were written before this run.
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
