import type { Client } from '../../core/mqtt5/peer.js'
import type { BrokerQuotas } from '../broker/limits/accounts.js'
import type { WatchQuotas } from '../engine/engine.js'
import type { Owner } from '../engine/entry.js'
import type { QuotaOptions } from './quotas.js'

const ANY = Number.POSITIVE_INFINITY

/** What options say of the broker's part. */
export const brokerQuotas = (options: Required<QuotaOptions>): BrokerQuotas => ({
  principal: {
    connections: options.maxConnectionsPerPrincipal,
    subscriptions: options.maxSubscriptionsPerPrincipal,
    retained: options.maxRetainedPerPrincipal,
    retainedBytes: options.maxRetainedBytesPerPrincipal,
    waitingBytes: options.maxWaitingBytesPerPrincipal,
    packetsPerSecond: options.maxPacketRatePerPrincipal,
    bytesPerSecond: options.maxByteRatePerPrincipal,
    workPerSecond: options.maxScanRatePerPrincipal,
  },
  address: {
    packetsPerSecond: options.maxPacketRatePerAddress,
    bytesPerSecond: options.maxByteRatePerAddress,
    workPerSecond: ANY,
  },
  total: {
    subscriptions: options.maxSubscriptions,
    retained: options.maxRetained,
    retainedBytes: options.maxRetainedBytes,
    packetsPerSecond: options.maxPacketRate ?? ANY,
    bytesPerSecond: options.maxByteRate ?? ANY,
    workPerSecond: ANY,
  },
  userProperties: options.maxUserProperties,
})

/** To whose quota of keys a connection writes, and how much of all that is. */
export const keyQuotas = ({ maxKeysPerPrincipal: maxKeys, maxBytesPerPrincipal: maxBytes }: Required<QuotaOptions>) => {
  return ({ account }: Client): Owner | undefined => account && { id: account.name, maxKeys, maxBytes }
}

/** What options say of watches. */
export const watchQuotas = (options: Required<QuotaOptions>): WatchQuotas<Client> => ({
  most: options.maxWatches,
  mostOfOwner: options.maxWatchesPerPrincipal,
  ownerOf: ({ account }) => account?.name,
})
