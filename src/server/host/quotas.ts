import type { Client } from '../../core/mqtt5/peer.js'
import { checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import {
  type Checked,
  checkValues,
  count,
  givenOf,
  integer,
  type OptionEntry,
  withDefaults,
} from '../../core/util/options.js'
import type { BrokerQuotas } from '../broker/limits/quota-accounts.js'
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
   * what waits (`maxBufferedBytes`), unless one of these is given, which leaves the rest for the other. What is over is
   * refused. It is an account, of which Node needs about as much again. Default: as these two are.
   */
  readonly maxMemory?: number | undefined
  /**
   * Of each total below, most for one principal, percent. Default: half of keys, bytes and retained messages, a quarter of
   * watches, a fifth of connections, an eighth of what waits, a tenth of subscriptions; of watches, connections and
   * subscriptions 10 at least, or the total if that is less.
   */
  readonly maxPercentPerPrincipal?: number | undefined
  /**
   * Most keys the store holds, and most keys one connection watches; one more is refused with `quota-exceeded`. A key counts
   * to the principal that wrote it last. Default 1,000,000.
   */
  readonly maxKeys?: number | undefined
  /**
   * Most the store keeps, bytes: keys, values, watched keys, and some 600 bytes besides each of them. What needs more is
   * refused with `quota-exceeded`; deletes and smaller values never are. Default 1 GiB, or half of the heap that Node
   * may use, or a quarter of the memory of this machine or container, whichever is least.
   */
  readonly maxBytes?: number | undefined
  /**
   * What the broker may hold for all clients together, bytes: messages that are unsent, unacknowledged or retained, packets
   * that are not complete. What is over is refused, and the client with the most is cut off; a session whose client is away
   * ends when its principal has more than its share. Default 512 MiB.
   */
  readonly maxBufferedBytes?: number | undefined
  /** Most connections, also of those who have not said who they are; one more is cut at once. Default 50,000. */
  readonly maxConnections?: number | undefined
  /** Most connections from one address; this machine may have any number. Default 1,000. */
  readonly maxConnectionsPerAddress?: number | undefined
  /** Most subscriptions; one more is refused (SUBACK 151). Default 1,000,000. One client has at most 1,000. */
  readonly maxSubscriptions?: number | undefined
  /** Most watches of keys (KEYNOTIFY); one more is refused with `quota-exceeded`. Default 2,000,000. */
  readonly maxWatches?: number | undefined
  /** Most retained messages; one more is refused (PUBACK 151), and nobody gets it. Default 100,000. */
  readonly maxRetained?: number | undefined
  /** Most bytes of retained messages. Default half of `maxBufferedBytes`, 256 MiB at most. */
  readonly maxRetainedBytes?: number | undefined
  /**
   * Packets a second, not counting acknowledgements. A client that sends more is read more slowly, after a second's worth
   * at once. Default any number: connections share the time of the process fairly.
   */
  readonly maxPacketRate?: number | undefined
  /** Twice as many from one address; this machine may send any number. Default 50,000. */
  readonly maxPacketRatePerPrincipal?: number | undefined
  /** Bytes a second, likewise. Default any number. */
  readonly maxByteRate?: number | undefined
  /**
   * Twice as many from one address. Scans may cost half as many: bytes of keys that are compared, times 1 for each 32
   * characters of the globs. Default 128 MiB.
   */
  readonly maxByteRatePerPrincipal?: number | undefined
  /** Most user properties of one packet; with more the connection ends (DISCONNECT 151). Default 1,000. */
  readonly maxUserProperties?: number | undefined
}

const MIB = 1024 * 1024
const DEFAULT_BUFFERED_BYTES = 512 * MIB
const DEFAULT_RETAINED_BYTES = 256 * MIB
const KEYS_FRACTION = 3 / 5

/** What each of {@link QuotaOptions} may be, is without, and is for; those without a default depend on others. */
export const QUOTAS = {
  maxMemory: { kind: count, help: 'most that keys and everything that waits may take together, bytes' },
  maxPercentPerPrincipal: {
    kind: integer('a percentage from 1 to 100', 1, 100),
    without: 'from a tenth to a half',
    help: 'most of each total for one, percent',
  },
  maxKeys: { kind: count, default: 1_000_000, help: 'most keys the store holds' },
  maxBytes: { kind: count, help: 'most the store keeps: keys, values, watched keys' },
  maxBufferedBytes: { kind: count },
  maxConnections: { kind: count, default: 50_000, help: 'most connections' },
  maxConnectionsPerAddress: { kind: count, default: 1_000, help: 'most from one other machine' },
  maxSubscriptions: { kind: count, default: 1_000_000, help: 'most subscriptions' },
  maxWatches: { kind: count, default: 2_000_000, help: 'most watches of keys' },
  maxRetained: { kind: count, default: 100_000, help: 'most retained messages' },
  maxRetainedBytes: {
    kind: count,
    without: '256 MiB, and half of what waits',
    help: 'most bytes of them',
  },
  maxPacketRate: {
    kind: count,
    without: 'any number',
    help: 'packets a second; who sends more is read more slowly',
  },
  maxPacketRatePerPrincipal: { kind: count, default: 50_000, help: 'of one; twice as many from one other machine' },
  maxByteRate: { kind: count, without: 'any number', help: 'bytes a second, likewise' },
  maxByteRatePerPrincipal: {
    kind: count,
    default: 128 * MIB,
    without: '128 MiB',
    help: 'of one; twice as many from one other machine',
  },
  maxUserProperties: { kind: count, default: 1_000, help: 'most user properties of a packet' },
} satisfies Readonly<Record<keyof QuotaOptions, OptionEntry<number>>>

/** Checked {@link QuotaOptions}. */
export type CheckedQuotas = Checked<
  QuotaOptions,
  'maxMemory' | 'maxPercentPerPrincipal' | 'maxPacketRate' | 'maxByteRate'
>

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkQuotas(options: QuotaOptions): CheckedQuotas {
  checkValues(QUOTAS, options)
  const { maxMemory, maxPacketRate, maxByteRate } = options
  const bytes = splitMemory(options)
  const { maxBytes, maxBufferedBytes } = bytes
  if (maxMemory !== undefined && Math.min(maxBytes, maxBufferedBytes) < 1)
    throw new ArgumentError(memoryTooSmall(options))
  checkPositiveInteger('maxBytes', maxBytes)
  checkPositiveInteger('maxBufferedBytes', maxBufferedBytes)
  if (maxMemory !== undefined && maxBytes + maxBufferedBytes > maxMemory) {
    const sum = `${maxBytes} + ${maxBufferedBytes}`
    throw new ArgumentError(`Expected \`maxBytes\` and \`maxBufferedBytes\` within \`maxMemory\`, got ${sum}`)
  }
  // Nobody makes room that has all of it retained.
  const maxRetainedBytes = Math.min(DEFAULT_RETAINED_BYTES, Math.ceil(maxBufferedBytes / 2))
  const plain = { maxRetainedBytes, ...givenOf(QUOTAS, options), ...withDefaults(QUOTAS, options) }
  const { maxPercentPerPrincipal } = options
  return { ...plain, maxMemory, maxPercentPerPrincipal, maxPacketRate, maxByteRate, ...bytes }
}

function memoryTooSmall({ maxMemory, maxBytes, maxBufferedBytes }: QuotaOptions): string {
  const [name, given] = maxBytes === undefined ? ['maxBufferedBytes', maxBufferedBytes] : ['maxBytes', maxBytes]
  const beside = given === undefined ? '' : ` beside \`${name}\` of ${given}`
  return `Expected \`maxMemory\` to leave room for keys and for what waits, got \`${maxMemory}\`${beside}`
}

function splitMemory({ maxMemory, maxBytes, maxBufferedBytes }: QuotaOptions) {
  if (maxMemory === undefined) {
    return {
      maxBytes: maxBytes ?? defaultMaxBytes(),
      maxBufferedBytes: maxBufferedBytes ?? DEFAULT_BUFFERED_BYTES,
    }
  }
  const rest = maxBufferedBytes === undefined ? Math.floor(KEYS_FRACTION * maxMemory) : maxMemory - maxBufferedBytes
  const keys = maxBytes ?? rest
  return { maxBytes: keys, maxBufferedBytes: maxBufferedBytes ?? maxMemory - keys }
}

/** What one principal may have of a total. */
const principalLimit = (
  { maxPercentPerPrincipal: percent }: QuotaOptions,
  total: number,
  defaultPercent: number,
): number => Math.ceil((total * (percent ?? defaultPercent)) / 100)

/** Of connections, subscriptions and watches one principal has so many at least, unless the option says its percentage. */
const MIN_PRINCIPAL_COUNT = 10

/** As {@link principalLimit}, for what no client can do without: a small part of a small total would be a single one. */
const principalCountLimit = (options: QuotaOptions, total: number, defaultPercent: number): number => {
  const limit = principalLimit(options, total, defaultPercent)
  return options.maxPercentPerPrincipal === undefined ? Math.min(total, Math.max(limit, MIN_PRINCIPAL_COUNT)) : limit
}

const UNLIMITED = Number.POSITIVE_INFINITY

/** What options say of the broker's part. */
export function brokerQuotas(options: CheckedQuotas): BrokerQuotas {
  const { maxPacketRatePerPrincipal: packetsPerSecond, maxByteRatePerPrincipal: bytesPerSecond } = options
  return {
    principal: {
      connections: principalCountLimit(options, options.maxConnections, 20),
      subscriptions: principalCountLimit(options, options.maxSubscriptions, 10),
      retained: principalLimit(options, options.maxRetained, 50),
      retainedBytes: principalLimit(options, options.maxRetainedBytes, 50),
      waitingBytes: principalLimit(options, options.maxBufferedBytes, 12.5),
      packetsPerSecond,
      bytesPerSecond,
      workPerSecond: Math.ceil(bytesPerSecond / 2),
    },
    address: { packetsPerSecond: 2 * packetsPerSecond, bytesPerSecond: 2 * bytesPerSecond, workPerSecond: UNLIMITED },
    total: {
      subscriptions: options.maxSubscriptions,
      retained: options.maxRetained,
      retainedBytes: options.maxRetainedBytes,
      packetsPerSecond: options.maxPacketRate ?? UNLIMITED,
      bytesPerSecond: options.maxByteRate ?? UNLIMITED,
      workPerSecond: UNLIMITED,
    },
    userProperties: options.maxUserProperties,
  }
}

/** To whose quota of keys a connection writes, and how much of all that is. */
export function keyQuotas(options: CheckedQuotas): (client: Client) => Owner | undefined {
  const maxKeys = principalLimit(options, options.maxKeys, 50)
  const maxBytes = principalLimit(options, options.maxBytes, 50)
  return ({ account }) => account && { id: account.name, maxKeys, maxBytes }
}

/** What options say of watches. */
export const watchQuotas = (options: CheckedQuotas): WatchQuotas<Client> => ({
  max: options.maxWatches,
  maxPerOwner: principalCountLimit(options, options.maxWatches, 25),
  ownerOf: ({ account }) => account?.name,
})
