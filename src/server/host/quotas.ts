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
 * The quotas of `serve`. A principal is an authenticated identity with all its connections. Anonymous clients share one
 * principal per address (IPv6: per /64 network). Anonymous clients on this machine have no principal.
 */
export interface QuotaOptions {
  /**
   * The memory budget in bytes for keys and buffered messages together. Three fifths are for keys (`maxBytes`) and two
   * fifths for buffers (`maxBufferedBytes`). If one of these options is set, the other option gets the remaining
   * budget. Requests that exceed the budget are rejected. The budget is an estimate, and Node needs about the same
   * amount in addition. Default: the sum of the two.
   */
  readonly maxMemory?: number | undefined
  /**
   * The maximum share of one principal in each total below, in percent. Default: half of keys, bytes and retained
   * messages, a quarter of watches, a fifth of connections, an eighth of buffered bytes, a tenth of subscriptions. For
   * watches, connections and subscriptions, the default is at least 10, or the total if that is less.
   */
  readonly maxPercentPerPrincipal?: number | undefined
  /**
   * The maximum number of keys in the store, and of keys that one connection watches. Further keys are rejected with
   * `quota-exceeded`. A key counts towards the principal that wrote it last. Default: 1,000,000.
   */
  readonly maxKeys?: number | undefined
  /**
   * The maximum size of the store in bytes, which includes keys, values, watched keys, and about 600 bytes for each of
   * them. Writes that would exceed it are rejected with `quota-exceeded`. Deletes and smaller values are never
   * rejected. Default: the least of 1 GiB, half of Node's heap limit, and a quarter of the memory of this machine or
   * container.
   */
  readonly maxBytes?: number | undefined
  /**
   * The memory budget of the broker for all clients in bytes, which includes unsent, unacknowledged and retained
   * messages, and incomplete packets. When the budget is exceeded, messages are rejected and the client with the
   * largest buffers is disconnected. The session of an offline client ends when its principal exceeds its share.
   * Default: 512 MiB.
   */
  readonly maxBufferedBytes?: number | undefined
  /**
   * The maximum number of connections, unauthenticated connections included. Further connections are closed
   * immediately. Default: 50,000, or as many as the limit of open files allows. A larger number that is given is lowered to
   * that limit, with a warning.
   */
  readonly maxConnections?: number | undefined
  /** The maximum number of connections per address. This machine is exempt. Default: 1,000. */
  readonly maxConnectionsPerAddress?: number | undefined
  /**
   * The maximum number of subscriptions. Further subscriptions are rejected (SUBACK 151). One client has at most 1,000.
   * Default: 1,000,000.
   */
  readonly maxSubscriptions?: number | undefined
  /**
   * The maximum number of watched keys (KEYNOTIFY). Further watches are rejected with `quota-exceeded`. Default:
   * 2,000,000.
   */
  readonly maxWatches?: number | undefined
  /**
   * The maximum number of retained messages. Further messages are rejected (PUBACK 151) and not delivered. Default:
   * 100,000.
   */
  readonly maxRetained?: number | undefined
  /** The maximum size of all retained messages in bytes. Default: half of `maxBufferedBytes`, at most 256 MiB. */
  readonly maxRetainedBytes?: number | undefined
  /**
   * The maximum number of packets per second of all clients together, acknowledgements excluded. Above this rate, the
   * broker reads from clients more slowly, but allows bursts of one second's worth of packets. Default: no limit,
   * because connections share the process fairly.
   */
  readonly maxPacketRate?: number | undefined
  /**
   * The maximum number of packets per second and principal. The limit per address is twice as high, and does not apply
   * to this machine. Default: 50,000.
   */
  readonly maxPacketRatePerPrincipal?: number | undefined
  /**
   * The maximum number of bytes per second of all clients together. See {@link QuotaOptions.maxPacketRate}. Default: no
   * limit.
   */
  readonly maxByteRate?: number | undefined
  /**
   * The maximum number of bytes per second and principal. The limit per address is twice as high. Scans may use half as
   * many bytes, counted as bytes of compared keys times 1 for each 32 characters of the globs. Default: 128 MiB.
   */
  readonly maxByteRatePerPrincipal?: number | undefined
}

const MIB = 1024 * 1024
const DEFAULT_BUFFERED_BYTES = 512 * MIB
const DEFAULT_RETAINED_BYTES = 256 * MIB
/** The maximum number of user properties per packet. Clients of the store send a dozen. */
const MAX_USER_PROPERTIES = 1_000
const KEYS_FRACTION = 3 / 5

const byteCount = integer('a number of bytes from 1, such as 268435456 for 256 MiB', 1, Number.MAX_SAFE_INTEGER)

export const QUOTAS = {
  maxMemory: { kind: byteCount, help: 'memory for keys and buffered messages together, bytes', isCommon: true },
  maxPercentPerPrincipal: {
    kind: integer('a percentage from 1 to 100', 1, 100),
    without: 'from a tenth to a half',
    help: 'share of each total per principal, percent',
  },
  maxKeys: { kind: count, default: 1_000_000, help: 'maximum number of keys' },
  maxBytes: { kind: byteCount, help: 'memory for keys, values and watched keys, bytes' },
  maxBufferedBytes: { kind: byteCount, without: '512 MiB', help: 'memory for buffered messages, bytes' },
  maxConnections: { kind: count, default: 50_000, help: 'maximum number of connections' },
  maxConnectionsPerAddress: { kind: count, default: 1_000, help: 'maximum number of connections per address' },
  maxSubscriptions: { kind: count, default: 1_000_000, help: 'maximum number of subscriptions' },
  maxWatches: { kind: count, default: 2_000_000, help: 'maximum number of watched keys' },
  maxRetained: { kind: count, default: 100_000, help: 'maximum number of retained messages' },
  maxRetainedBytes: {
    kind: byteCount,
    without: '256 MiB, at most half of the buffer memory',
    help: 'memory for retained messages, bytes',
  },
  maxPacketRate: {
    kind: count,
    without: 'no limit',
    help: 'packets per second in total; above that, clients are read more slowly',
  },
  maxPacketRatePerPrincipal: {
    kind: count,
    default: 50_000,
    help: 'packets per second and principal; twice as many per address',
  },
  maxByteRate: { kind: count, without: 'no limit', help: 'bytes per second in total' },
  maxByteRatePerPrincipal: {
    kind: count,
    default: 128 * MIB,
    without: '128 MiB',
    help: 'bytes per second and principal; twice as many per address',
  },
} satisfies Readonly<Record<keyof QuotaOptions, OptionEntry<number>>>

export type CheckedQuotas = Checked<
  QuotaOptions,
  'maxMemory' | 'maxPercentPerPrincipal' | 'maxPacketRate' | 'maxByteRate'
>

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
    throw new ArgumentError(
      `Expected \`maxBytes\` plus \`maxBufferedBytes\` to be at most \`maxMemory\` (${maxMemory}), got ${sum}`,
    )
  }
  // Retained messages cannot be evicted, so they must not use the whole budget.
  const maxRetainedBytes = Math.min(DEFAULT_RETAINED_BYTES, Math.ceil(maxBufferedBytes / 2))
  const plain = { maxRetainedBytes, ...givenOf(QUOTAS, options), ...withDefaults(QUOTAS, options) }
  const { maxPercentPerPrincipal } = options
  return { ...plain, maxMemory, maxPercentPerPrincipal, maxPacketRate, maxByteRate, ...bytes }
}

function memoryTooSmall({ maxMemory, maxBytes, maxBufferedBytes }: QuotaOptions): string {
  const [name, given] = maxBytes === undefined ? ['maxBufferedBytes', maxBufferedBytes] : ['maxBytes', maxBytes]
  const other = given === undefined ? '' : ` with \`${name}\` of ${given}`
  return `Expected \`maxMemory\` to leave memory for keys and for buffers, got \`${maxMemory}\`${other}`
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

const principalLimit = (
  { maxPercentPerPrincipal: percent }: QuotaOptions,
  total: number,
  defaultPercent: number,
): number => Math.ceil((total * (percent ?? defaultPercent)) / 100)

/** The minimum of the default quotas of a principal. It does not apply if `maxPercentPerPrincipal` is set. */
const MIN_PRINCIPAL_COUNT = 10

/**
 * Returns the same as {@link principalLimit} with a minimum, for connections, subscriptions and watches. Without the
 * minimum, a small percentage of a small total would be a limit of one.
 */
const principalCountLimit = (options: QuotaOptions, total: number, defaultPercent: number): number => {
  const limit = principalLimit(options, total, defaultPercent)
  return options.maxPercentPerPrincipal === undefined ? Math.min(total, Math.max(limit, MIN_PRINCIPAL_COUNT)) : limit
}

const UNLIMITED = Number.POSITIVE_INFINITY

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
    userProperties: MAX_USER_PROPERTIES,
  }
}

export function keyQuotas(options: CheckedQuotas): (client: Client) => Owner | undefined {
  const maxKeys = principalLimit(options, options.maxKeys, 50)
  const maxBytes = principalLimit(options, options.maxBytes, 50)
  return ({ account }) => account && { id: account.name, maxKeys, maxBytes }
}

export const watchQuotas = (options: CheckedQuotas): WatchQuotas<Client> => ({
  max: options.maxWatches,
  maxPerOwner: principalCountLimit(options, options.maxWatches, 25),
  ownerOf: ({ account }) => account?.name,
})
