import { checkPositiveInteger } from '../check.js'
import { type Clock, systemClock } from '../clock.js'
import { ArgumentError, shown } from '../errors.js'
import type { Dialect } from '../protocol/replies.js'

/** Options of {@link serve}. */
export interface ServeOptions {
  /** Address to listen on. Default `127.0.0.1`: this machine only. */
  readonly host?: string
  /** TCP port, 0 for any free one. Default 1883. */
  readonly port?: number
  /** WebSocket port, 0 for any free one. Default 8083. */
  readonly wsPort?: number
  /** Spelling where the documents and the field differ. Default `field`. */
  readonly dialect?: Dialect
  /**
   * Who gets notifications: `registered` (default, as in the field) every connection that sent KEYNOTIFY; `subscribed`
   * only those that subscribed to their notification topic too, as the documents ask for.
   */
  readonly notifications?: 'registered' | 'subscribed'
  /** Most keys the store holds, and most keys one connection watches. Default 1,000,000. */
  readonly maxKeys?: number
  /** Largest packet a client may send, bytes; it limits the size of values. Default 16 MiB. */
  readonly maximumPacketSize?: number
  /** Clock of versions and expiry. Default the machine's. */
  readonly clock?: Clock
}

const DEFAULT_PACKET_SIZE = 16 * 1024 * 1024
/** What MQTT can count: a variable byte integer (MQTT 5.0, section 1.5.5) and the header before it, bytes. */
const LARGEST_PACKET_SIZE = 268_435_460

/** Options with their defaults. Throws {@link ArgumentError}. */
export function checkOptions(options: ServeOptions): Required<ServeOptions> {
  const { host = '127.0.0.1', port = 1883, wsPort = 8083, clock = systemClock, dialect = 'field' } = options
  const { maxKeys = 1_000_000, maximumPacketSize = DEFAULT_PACKET_SIZE, notifications = 'registered' } = options
  checkPort('port', port)
  checkPort('wsPort', wsPort)
  checkPositiveInteger('maxKeys', maxKeys)
  checkPositiveInteger('maximumPacketSize', maximumPacketSize)
  if (maximumPacketSize > LARGEST_PACKET_SIZE) {
    throw new ArgumentError(
      `Expected \`maximumPacketSize\` to be at most ${LARGEST_PACKET_SIZE}, got \`${maximumPacketSize}\``,
    )
  }
  checkChoice('dialect', dialect, ['field', 'documented'])
  checkChoice('notifications', notifications, ['registered', 'subscribed'])
  return { host, port, wsPort, clock, dialect, maxKeys, maximumPacketSize, notifications }
}

/** Throws {@link ArgumentError} unless the value is one of the choices. */
export function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  throw new ArgumentError(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${shown(value)}\``)
}

function checkPort(name: string, port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return
  throw new ArgumentError(`Expected \`${name}\` to be a port number from 0 to 65535, got \`${port}\` (${typeof port})`)
}
