import { PROPERTY } from '../../harness/packets.js'
import { command, request } from '../scene/resp3.js'
import type { Row } from '../scene/row.js'
import type { StateName } from '../scene/states.js'
import { frameRow } from './frame-rows.js'

const KIB = 1024
const SIZES = [1, KIB, 30_000, 1_000_000] as const
const VALUES = [0, 4 * KIB, 8 * KIB * KIB] as const
const DEPTHS = [2, 1_000, 100_000] as const
const clientOf = (name: string): string => name.replace(/\W/g, '-')

const row = (name: string, payload: (n: number) => Uint8Array, state: StateName = 'empty'): Row =>
  frameRow(`request ${name}`, n => request(clientOf(name), payload(n), n), { state })

/** Returns a key of a size that differs from others at its start. */
const keyOf = (n: number, size: number): string => `${n}`.padEnd(size, 'k').slice(0, Math.max(size, `${n}`.length))
const sized = (size: number): string => size.toLocaleString('en')

/** Every request to the store, with each argument at its smallest, a middle and its greatest size. */
export const REQUEST_ROWS: readonly Row[] = [
  ...(['GET', 'DEL', 'KEYNOTIFY', 'SCAN', 'GLOBNOTIFY'] as const).flatMap(verb =>
    SIZES.map(size => row(`${verb}, key of ${sized(size)} bytes`, n => command(verb, keyOf(n, size)))),
  ),
  ...SIZES.map(size => row(`SET, key of ${sized(size)} bytes`, n => command('SET', keyOf(n, size), 'v'))),
  ...VALUES.map(size => row(`SET, value of ${sized(size)} bytes`, () => command('SET', 'k', Buffer.alloc(size)))),
  ...VALUES.map(size =>
    row(`SET NEX, value of ${sized(size)} bytes`, () => command('SET', 'k', Buffer.alloc(size), 'NEX')),
  ),
  ...VALUES.map(size => row(`VDEL, value of ${sized(size)} bytes`, () => command('VDEL', 'k', Buffer.alloc(size)))),
  ...DEPTHS.map(depth => row(`of ${sized(depth)} nested arrays`, () => Buffer.from('*1\r\n'.repeat(depth)))),
  ...DEPTHS.map(count => row(`of ${sized(count)} words`, () => command(...Array.from({ length: count }, () => 'GET')))),
  ...DEPTHS.map(count => row(`SCAN, glob of ${sized(count)} stars`, () => command('SCAN', '*a'.repeat(count)))),
  ...DEPTHS.map(count => row(`SCAN, glob of ${sized(count)} ranges`, () => command('SCAN', '[a-z]'.repeat(count)))),
  frameRow('request with 900 user properties', n =>
    request('many', command('GET', 'k'), n, ...Array.from({ length: 900 }, (_, at) => PROPERTY.user(`p${at}`, 'x'))),
  ),
]
