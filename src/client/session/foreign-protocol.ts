import { utf8 } from '../../core/util/bytes.js'

/** How servers of other protocols begin, and what to do about it. */
const BEGINNINGS: readonly (readonly [beginning: Uint8Array, what: string])[] = [
  [utf8('HTTP/'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [utf8('<'), 'HTTP: for MQTT over WebSocket write ws:// or wss://'],
  [new Uint8Array([0x15, 3]), 'TLS: write mqtts:// or wss://'],
  [new Uint8Array([0x16, 3]), 'TLS: write mqtts:// or wss://'],
  [utf8('SSH-'), 'SSH'],
  [utf8('-ERR'), 'the protocol of Redis'],
  [utf8('INFO {'), 'the protocol of NATS'],
]
/** CONNACK and AUTH, with which a broker answers CONNECT; DISCONNECT, with which some refuse it. */
const FIRST_BYTES = [0x20, 0xf0, 0xe0]

/** What a server speaks whose first bytes are no MQTT, in words; `undefined` for MQTT. */
export function foreignProtocol(first: Uint8Array): string | undefined {
  const [, what] = BEGINNINGS.find(([beginning]) => beginning.every((byte, at) => first[at] === byte)) ?? []
  if (what !== undefined) return `what answers there speaks ${what}`
  return first[0] === undefined || FIRST_BYTES.includes(first[0]) ? undefined : 'what answers there does not speak MQTT'
}
