import type { Client } from '../../core/mqtt5/peer.js'
import { checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import { checkValues, count, givenOf, type OptionEntry, withDefaults } from '../../core/util/options.js'
import type { BrokerQuotas } from '../broker/limits/accounts.js'
import type { WatchQuotas } from '../engine/engine.js'
import type { Owner } from '../engine/entry.js'
import { defaultMaxBytes } from '../storage/storage-options.js'

/**
 * Options of `serve` about how much there may be. A principal is whoever proved who it is, with all its connections; those
 * who proved nothing are one principal for each address (of IPv6: network of 64 bits), and on this machine nobody's.
 */
export interface QuotaOptions {
  /**
   * Most that keys and everything that waits may take together, bytes: three fifths are for keys (`maxBytes`), two fifths for
   * what waits (`maximumBufferedBytes`), unless one of these is given, which leaves the rest for the other. What is over is
   * refused. It is an account, of which Node needs about as much again. Default: as these two are.
   */
  readonly maxMemory?: number | undefined
  /** Most keys the store holds, and most keys one connection watches. Default 1,000,000. */
  readonly maxKeys?: number
  /** Most keys that one principal wrote last; one more is refused with `quota-exceeded`. Default half of `maxKeys`. */
  readonly maxKeysPerPrincipal?: number
  /**
   * Most the store keeps, bytes: keys, values, watched keys, and some 600 bytes besides each of them. What needs more is
   * refused with `quota-exceeded`; deletes and smaller values never are. Default 1 GiB, or half of the heap that Node
   * may use, or a quarter of the memory of this machine or container, whichever is least.
   */
  readonly maxBytes?: number
  /** Of that, most for keys that one principal wrote last. Default half of `maxBytes`. */
  readonly maxBytesPerPrincipal?: number
  /**
   * What the broker may hold for all clients together, bytes: messages that are unsent, unacknowledged or retained, packets
   * that are not complete. What is over is refused, and the client with the most is cut off. Default 512 MiB.
   */
  readonly maximumBufferedBytes?: number
  /** Of that, most for sessions of one principal whose client is away; a session that gets more ends. Default an eighth. */
  readonly maxWaitingBytesPerPrincipal?: number
  /** Most connections, also of those who have not said who they are; one more is cut at once. Default 50,000. */
  readonly maxConnections?: number
  /** Most connections from one address; this machine may have any number. Default 1,000. */
  readonly maxConnectionsPerAddress?: number
  /** Most connections of one principal; one more is told so (CONNACK 151). Default 10,000. */
  readonly maxConnectionsPerPrincipal?: number
  /** Most subscriptions; one more is refused (SUBACK 151). Default 1,000,000. One client has at most 1,000. */
  readonly maxSubscriptions?: number
  /** Default 100,000. */
  readonly maxSubscriptionsPerPrincipal?: number
  /** Most watches of keys (KEYNOTIFY); one more is refused with `quota-exceeded`. Default 2,000,000. */
  readonly maxWatches?: number
  /** Default 500,000. */
  readonly maxWatchesPerPrincipal?: number
  /** Most retained messages; one more is refused (PUBACK 151), and nobody gets it. Default 100,000. */
  readonly maxRetained?: number
  /** Default half of `maxRetained`. */
  readonly maxRetainedPerPrincipal?: number
  /** Most bytes of retained messages. Default half of `maximumBufferedBytes`, 256 MiB at most. */
  readonly maxRetainedBytes?: number
  /** Default half of `maxRetainedBytes`. */
  readonly maxRetainedBytesPerPrincipal?: number
  /**
   * Packets a second, not counting acknowledgements. A client that sends more is read more slowly, after a second's worth
   * at once. Default any number: connections share the time of the process fairly.
   */
  readonly maxPacketRate?: number | undefined
  /** Of all connections from one address; this machine may send any number. Default 100,000. */
  readonly maxPacketRatePerAddress?: number
  /** Default 50,000. */
  readonly maxPacketRatePerPrincipal?: number
  /** Bytes a second, likewise. Default any number. */
  readonly maxByteRate?: number | undefined
  /** Default 256 MiB. */
  readonly maxByteRatePerAddress?: number
  /** Default 128 MiB. */
  readonly maxByteRatePerPrincipal?: number
  /**
   * What scans may cost in a second, bytes of keys that are compared, times 1 for each 32 characters of the globs. Who scans
   * more is read more slowly. Default 64 MiB.
   */
  readonly maxScanRatePerPrincipal?: number
  /** Most user properties of one packet; with more the connection ends (DISCONNECT 151). Default 1,000. */
  readonly maxUserProperties?: number
}

const MIB = 1024 * 1024
const DEFAULT_BUFFERED_BYTES = 512 * MIB
const DEFAULT_RETAINED_BYTES = 256 * MIB
const KEYS_SHARE = 3 / 5
const WAITING_SHARE = 1 / 8

/** What each of {@link QuotaOptions} may be, is without, and is for; those without a default depend on others. */
export const QUOTAS = {
  maxMemory: { kind: count, help: 'most that keys and everything that waits may take together, bytes' },
  maxKeys: { kind: count, default: 1_000_000, help: 'most keys the store holds' },
  maxKeysPerPrincipal: { kind: count, without: 'half of it', help: 'most that one wrote last' },
  maxBytes: { kind: count, help: 'most the store keeps: keys, values, watched keys' },
  maxBytesPerPrincipal: { kind: count, without: 'half of it', help: 'most for keys that one wrote last' },
  maximumBufferedBytes: { kind: count },
  maxWaitingBytesPerPrincipal: {
    kind: count,
    without: 'an eighth of what waits',
    help: 'most for its clients that are away',
  },
  maxConnections: { kind: count, default: 50_000, help: 'most connections' },
  maxConnectionsPerAddress: { kind: count, default: 1_000, help: 'most from one other machine' },
  maxConnectionsPerPrincipal: { kind: count, default: 10_000, help: 'most of one' },
  maxSubscriptions: { kind: count, default: 1_000_000, help: 'most subscriptions' },
  maxSubscriptionsPerPrincipal: { kind: count, default: 100_000, help: 'most of one' },
  maxWatches: { kind: count, default: 2_000_000, help: 'most watches of keys' },
  maxWatchesPerPrincipal: { kind: count, default: 500_000, help: 'most of one' },
  maxRetained: { kind: count, default: 100_000, help: 'most retained messages' },
  maxRetainedPerPrincipal: { kind: count, without: 'half of it', help: 'most of one' },
  maxRetainedBytes: {
    kind: count,
    without: '256 MiB, and half of what waits',
    help: 'most bytes of them',
  },
  maxRetainedBytesPerPrincipal: { kind: count, without: 'half of it', help: 'most of one' },
  maxPacketRate: {
    kind: count,
    without: 'any number',
    help: 'packets a second; who sends more is read more slowly',
  },
  maxPacketRatePerAddress: { kind: count, default: 100_000, help: 'from one other machine' },
  maxPacketRatePerPrincipal: { kind: count, default: 50_000, help: 'of one' },
  maxByteRate: { kind: count, without: 'any number', help: 'bytes a second, likewise' },
  maxByteRatePerAddress: { kind: count, default: 256 * MIB, without: '256 MiB', help: 'from one other machine' },
  maxByteRatePerPrincipal: { kind: count, default: 128 * MIB, without: '128 MiB', help: 'of one' },
  maxScanRatePerPrincipal: {
    kind: count,
    default: 64 * MIB,
    without: '64 MiB',
    help: 'bytes of keys that scans of one compare in a second',
  },
  maxUserProperties: { kind: count, default: 1_000, help: 'most user properties of a packet' },
} satisfies Readonly<Record<keyof QuotaOptions, OptionEntry<number>>>

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkQuotas(options: QuotaOptions): Required<QuotaOptions> {
  checkValues(QUOTAS, options)
  const { maxMemory, maxPacketRate, maxByteRate } = options
  const bytes = shares(options)
  const { maxBytes, maximumBufferedBytes } = bytes
  if (maxMemory !== undefined && Math.min(maxBytes, maximumBufferedBytes) < 1) throw new ArgumentError(noRoom(options))
  checkPositiveInteger('maxBytes', maxBytes)
  checkPositiveInteger('maximumBufferedBytes', maximumBufferedBytes)
  if (maxMemory !== undefined && maxBytes + maximumBufferedBytes > maxMemory) {
    const sum = `${maxBytes} + ${maximumBufferedBytes}`
    throw new ArgumentError(`Expected \`maxBytes\` and \`maximumBufferedBytes\` within \`maxMemory\`, got ${sum}`)
  }
  // Nobody makes room that has all of it retained.
  const maxRetainedBytes = Math.min(DEFAULT_RETAINED_BYTES, half(maximumBufferedBytes))
  const plain = { maxRetainedBytes, ...givenOf(QUOTAS, options), ...withDefaults(QUOTAS, options) }
  const halves = {
    maxKeysPerPrincipal: half(plain.maxKeys),
    maxBytesPerPrincipal: half(maxBytes),
    maxRetainedPerPrincipal: half(plain.maxRetained),
    maxRetainedBytesPerPrincipal: half(plain.maxRetainedBytes),
    maxWaitingBytesPerPrincipal: Math.ceil(WAITING_SHARE * maximumBufferedBytes),
  }
  return { ...halves, ...plain, maxMemory, maxPacketRate, maxByteRate, ...bytes }
}

function noRoom({ maxMemory, maxBytes, maximumBufferedBytes }: QuotaOptions): string {
  const [name, given] = maxBytes === undefined ? ['maximumBufferedBytes', maximumBufferedBytes] : ['maxBytes', maxBytes]
  const beside = given === undefined ? '' : ` beside \`${name}\` of ${given}`
  return `Expected \`maxMemory\` to leave room for keys and for what waits, got \`${maxMemory}\`${beside}`
}

const half = (whole: number): number => Math.ceil(whole / 2)

function shares({ maxMemory, maxBytes, maximumBufferedBytes }: QuotaOptions) {
  if (maxMemory === undefined) {
    return {
      maxBytes: maxBytes ?? defaultMaxBytes(),
      maximumBufferedBytes: maximumBufferedBytes ?? DEFAULT_BUFFERED_BYTES,
    }
  }
  const rest =
    maximumBufferedBytes === undefined ? Math.floor(KEYS_SHARE * maxMemory) : maxMemory - maximumBufferedBytes
  const keys = maxBytes ?? rest
  return { maxBytes: keys, maximumBufferedBytes: maximumBufferedBytes ?? maxMemory - keys }
}

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
