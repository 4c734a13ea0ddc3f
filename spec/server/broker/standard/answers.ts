import { type ConnectOptions, connect as writeConnect } from '../../../support/packets.js'
import type { TestClient } from '../../../support/test-client.js'

// Mosquitto 2.0 says nothing before it closes in most of these cases, and lets pass: acknowledgements, PINGRESP and PINGREQ
// with wrong flags or reasons, SUBACK and UNSUBACK, DUP with QoS 0, a subscription identifier in PUBLISH, payload format 2,
// a response topic with a wildcard, groups with an odd name, no local for a group.

/** What the standard lets a broker say to it, the plainest first; afterwards the connection is over, but for a SUBACK or UNSUBACK. */
export type Answer = `${'connack' | 'disconnect' | 'suback' | 'unsuback'} 0x${string}` | 'closed'
export type Row = readonly [what: string, section: string, bytes: Uint8Array, ...answers: Answer[]]

/** A row as the runner wants it. */
export const cases = (
  rows: readonly Row[],
): [what: string, section: string, rest: { bytes: Uint8Array; answers: Answer[] }][] =>
  rows.map(([what, section, bytes, ...answers]) => [what, section, { bytes, answers }])

let clients = 0
/** A CONNECT that is right but for what is given; MQTT 5, clean start. */
export const connect = (wrong: ConnectOptions = {}): Buffer => writeConnect(`raw-${++clients}`, wrong)

/** What came first, in the words of the tables. */
export async function answerTo(peer: TestClient): Promise<string> {
  const packet = await peer.anything()
  if (packet === 'closed') return 'closed'
  if (packet.cmd === 'pingresp') return 'nothing'
  const hex = (code: unknown): string => `0x${Number(code).toString(16).padStart(2, '0')}`
  if (packet.cmd === 'suback' || packet.cmd === 'unsuback') return `${packet.cmd} ${hex(packet.granted[0])}`
  if (packet.cmd === 'connack' && (packet.reasonCode ?? packet.returnCode) === 0) return 'connack 0x00'
  // What it said is no answer unless it is the last word.
  await peer.closed
  if (packet.cmd === 'connack') return `connack ${hex(packet.reasonCode ?? packet.returnCode)}`
  return packet.cmd === 'disconnect' ? `disconnect ${hex(packet.reasonCode)}` : packet.cmd
}
