import type { Client } from '../../core/mqtt5/peer.js'
import { checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
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
/** What does not depend on anything else. */
const DEFAULTS = {
  maxKeys: 1_000_000,
  maxConnections: 50_000,
  maxConnectionsPerAddress: 1_000,
  maxConnectionsPerPrincipal: 10_000,
  maxSubscriptions: 1_000_000,
  maxSubscriptionsPerPrincipal: 100_000,
  maxWatches: 2_000_000,
  maxWatchesPerPrincipal: 500_000,
  maxRetained: 100_000,
  maxPacketRatePerAddress: 100_000,
  maxPacketRatePerPrincipal: 50_000,
  maxByteRatePerAddress: 256 * MIB,
  maxByteRatePerPrincipal: 128 * MIB,
  maxScanRatePerPrincipal: 64 * MIB,
  maxUserProperties: 1_000,
} as const satisfies QuotaOptions

/** The names of all options that are a number of something. */
export const QUOTA_NAMES = [
  'maxMemory',
  'maxKeys',
  'maxKeysPerPrincipal',
  'maxBytes',
  'maxBytesPerPrincipal',
  'maximumBufferedBytes',
  'maxWaitingBytesPerPrincipal',
  'maxConnections',
  'maxConnectionsPerAddress',
  'maxConnectionsPerPrincipal',
  'maxSubscriptions',
  'maxSubscriptionsPerPrincipal',
  'maxWatches',
  'maxWatchesPerPrincipal',
  'maxRetained',
  'maxRetainedPerPrincipal',
  'maxRetainedBytes',
  'maxRetainedBytesPerPrincipal',
  'maxPacketRate',
  'maxPacketRatePerAddress',
  'maxPacketRatePerPrincipal',
  'maxByteRate',
  'maxByteRatePerAddress',
  'maxByteRatePerPrincipal',
  'maxScanRatePerPrincipal',
  'maxUserProperties',
] as const satisfies readonly (keyof QuotaOptions)[]

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkQuotas(options: QuotaOptions): Required<QuotaOptions> {
  for (const name of QUOTA_NAMES) {
    const value = options[name]
    if (value !== undefined) checkPositiveInteger(name, value)
  }
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
  const plain = { ...DEFAULTS, maxRetainedBytes, ...given(options) }
  const halves = {
    maxKeysPerPrincipal: half(plain.maxKeys),
    maxBytesPerPrincipal: half(maxBytes),
    maxRetainedPerPrincipal: half(plain.maxRetained),
    maxRetainedBytesPerPrincipal: half(plain.maxRetainedBytes),
    maxWaitingBytesPerPrincipal: Math.ceil(WAITING_SHARE * maximumBufferedBytes),
  }
  return { ...halves, ...plain, maxMemory, maxPacketRate, maxByteRate, ...bytes }
}

const given = (options: QuotaOptions): QuotaOptions =>
  Object.fromEntries(QUOTA_NAMES.flatMap(name => (options[name] === undefined ? [] : [[name, options[name]]])))

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
