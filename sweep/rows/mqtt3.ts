import { connect, packet, text, uint16 } from '../../harness/packets.js'
import type { Row } from '../scene/row.js'
import { USER } from '../scene/states.js'
import { frameRow } from './frame-rows.js'

const login3 = (clientId: string): Buffer => connect(clientId, { version: 4, username: USER, password: 'x' })
const row = (name: string, frame: (id: number) => Uint8Array): Row =>
  frameRow(`MQTT 3.1.1 ${name}`, frame, { connect: login3, version: 4 })
const SIZES = [1, 1_024, 65_535] as const
const COUNTS = [1, 100, 1_000, 20_000] as const
const sized = (size: number): string => size.toLocaleString('en')
const filters = (count: number, options: readonly number[]): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, n) => Buffer.concat([text(`t/${n}/+/x`), Buffer.from(options)])))

/** The packets of MQTT 3.1.1, whose formats differ from those of MQTT 5. */
export const MQTT3_ROWS: readonly Row[] = [
  ...SIZES.map(size =>
    row(`PUBLISH, topic: ${sized(size)} bytes`, id => packet(0x32, text('x'.repeat(size)), uint16(id), [1])),
  ),
  ...SIZES.map(size =>
    row(`PUBLISH, topic: ${sized(size)} levels`, id => packet(0x32, text('/'.repeat(size)), uint16(id), [1])),
  ),
  ...[0, 4_096, 1_048_576].map(size =>
    row(`PUBLISH, payload: ${sized(size)} bytes`, id => packet(0x32, text('t'), uint16(id), Buffer.alloc(size))),
  ),
  ...COUNTS.map(count =>
    row(`SUBSCRIBE, filters: ${sized(count)}`, id => packet(0x82, uint16(id), filters(count, [1]))),
  ),
  ...COUNTS.map(count =>
    row(`UNSUBSCRIBE, filters: ${sized(count)}`, id => packet(0xa2, uint16(id), filters(count, []))),
  ),
  ...Object.entries({ PUBACK: 0x40, PUBREC: 0x50, PUBREL: 0x62, PUBCOMP: 0x70 }).map(([kind, header]) =>
    row(kind, id => packet(header, uint16(id))),
  ),
  row('PINGREQ', () => packet(0xc0)),
  row('DISCONNECT', () => packet(0xe0)),
]
