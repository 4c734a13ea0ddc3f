import type { Dialect } from '../../core/protocol/replies.js'
import { checkOptionNames } from '../../core/util/check.js'
import { type Clock, systemClock } from '../../core/util/clock.js'
import {
  type Checked,
  checkValues,
  choice,
  integer,
  type OptionEntry,
  port,
  text,
  time,
  toggle,
  withDefaults,
} from '../../core/util/options.js'
import { checkOrigins } from '../../node/net/origins.js'
import { type CheckedStorage, checkStorage, type StorageOptions } from '../storage/storage-options.js'
import { type CheckedQuotas, checkQuotas, type QuotaOptions } from './quotas.js'
import { type CheckedSecurity, checkSecurity, type SecurityOptions } from './security.js'

/** The options of `serve`: addresses, access, quotas, and where the keys are stored. */
export interface ServeOptions extends SecurityOptions, QuotaOptions, StorageOptions {
  /** The address to listen on. Default: `127.0.0.1`, which only this machine can reach. */
  readonly host?: string | undefined
  /** The TCP port. 0 selects a free port. Default: 1883. */
  readonly port?: number | undefined
  /** The WebSocket port. 0 selects a free port. Default: 8083. */
  readonly wsPort?: number | undefined
  /**
   * The spelling to use where the documentation and deployed stores differ. Default: `field`, as in deployed stores.
   */
  readonly dialect?: Dialect | undefined
  /**
   * The connections that get notifications. `registered` (default, as in deployed stores): every connection that sent
   * KEYNOTIFY. `subscribed`: as documented, only connections that also subscribed to their notification topic.
   */
  readonly notifications?: 'registered' | 'subscribed' | undefined
  /** The size in bytes of the largest packet that a client may send. It limits the size of values. Default: 16 MiB. */
  readonly maxPacketSize?: number | undefined
  /**
   * The longest keep-alive in ms, rounded up to whole seconds. MQTT 5 clients that request a longer keep-alive, or
   * none, get this keep-alive in CONNACK. Default: 0, which means no limit.
   */
  readonly maxKeepAlive?: number | undefined
  /**
   * The origins whose pages may connect over WebSocket, such as `https://panel.example`, in addition to pages of this
   * machine and of the host itself. Programs other than browsers are not restricted. Default: none.
   */
  readonly allowedOrigins?: readonly string[] | undefined
  /**
   * Whether the WebSocket port is behind a proxy on this machine. If so, rate limits, failed logins and the audit log
   * use the last address in `X-Forwarded-For`. Default: `false`.
   */
  readonly trustProxy?: boolean | undefined
  /**
   * The interval in ms at which the broker publishes its statistics to `$SYS/broker/...`, while a client is subscribed.
   * 0 means that it has no `$SYS` topics. Default: 10,000.
   */
  readonly sysInterval?: number | undefined
  /** The clock. Default: the machine's clock. */
  readonly clock?: Clock | undefined
}

const DEFAULT_PACKET_BYTES = 16 * 1024 * 1024
/** The longest keep-alive that two bytes of seconds can hold (MQTT 5.0, section 3.1.2.10). */
const MAX_KEEP_ALIVE_MS = 65_535_000
/** The size of the largest MQTT packet: the largest length (MQTT 5.0, section 1.5.5) plus its fixed header. */
const MAX_PACKET_BYTES = 268_435_460

/** A day. */
const MAX_SYS_INTERVAL_MS = 86_400_000

export const DIALECT = {
  kind: choice('<name>', ['field', 'documented'] satisfies readonly Dialect[]),
  default: 'field',
  help: 'spelling where documentation and deployed stores differ',
} satisfies OptionEntry<Dialect>

export const SERVE_OPTIONS = {
  port: { kind: port, default: 1883, help: 'TCP port, 0 for any free one', isCommon: true },
  wsPort: { kind: port, default: 8083, help: 'WebSocket port, 0 for any free one', isCommon: true },
  host: {
    kind: text('<address>'),
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for all',
    isCommon: true,
  },
  dialect: DIALECT,
  notifications: {
    kind: choice('<whom>', ['registered', 'subscribed']),
    default: 'registered',
    help: 'clients that get notifications',
  },
  maxPacketSize: {
    kind: integer(`a number of bytes from 1 to ${MAX_PACKET_BYTES}`, 1, MAX_PACKET_BYTES),
    default: DEFAULT_PACKET_BYTES,
    help: 'largest packet of a client, bytes; limits the size of values',
  },
  maxKeepAlive: {
    kind: time(`a whole number of ms from 0 to ${MAX_KEEP_ALIVE_MS}`, 0, MAX_KEEP_ALIVE_MS),
    default: 0,
    without: 'no limit',
    help: 'longest keep-alive of clients, such as 1m',
  },
  sysInterval: {
    kind: time(`a whole number of ms from 0 to ${MAX_SYS_INTERVAL_MS}`, 0, MAX_SYS_INTERVAL_MS),
    default: 10_000,
    without: '10s',
    help: 'interval of the statistics in $SYS topics, 0 for none',
  },
  trustProxy: { kind: toggle, default: false },
} satisfies Partial<Record<keyof ServeOptions, OptionEntry<unknown>>>

export type CheckedOptions = Omit<
  Checked<ServeOptions>,
  keyof QuotaOptions | keyof StorageOptions | keyof SecurityOptions
> &
  CheckedQuotas &
  CheckedStorage &
  CheckedSecurity

export function checkOptions(options: ServeOptions): CheckedOptions {
  checkValues(SERVE_OPTIONS, options)
  const plain = withDefaults(SERVE_OPTIONS, options)
  const { clock = systemClock, allowedOrigins = [] } = options
  checkOrigins(allowedOrigins)
  const checked = {
    ...plain,
    ...checkQuotas(options),
    ...checkStorage(options),
    ...checkSecurity(options, plain.host),
    clock,
    allowedOrigins,
  }
  checkOptionNames('serve', options, checked)
  return checked
}
