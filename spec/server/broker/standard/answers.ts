import { type ConnectOptions, connect as writeConnect } from '../../../support/packets.js'
import type { TestClient } from '../../../support/test-client.js'
import { isForeign } from './broker-under-test.js'

// In most of these cases, Mosquitto 2.0 closes the connection without a response. It accepts acknowledgements, PINGRESP
// and PINGREQ with wrong flags or reasons, SUBACK and UNSUBACK, DUP with QoS 0, a subscription identifier in PUBLISH,
// payload format 2, a response topic with a wildcard, malformed share names, and No Local for a group.

/** A response that the specification permits. Every response except SUBACK and UNSUBACK ends the connection. */
export type Answer = `${'connack' | 'disconnect' | 'suback' | 'unsuback'} 0x${string}` | 'closed'
export type Row = readonly [what: string, section: string, bytes: Uint8Array, ...answers: Answer[]]

/** Returns test cases. Our broker gives the first of the permitted responses. */
export const cases = (
  rows: readonly Row[],
): [what: string, section: string, rest: { bytes: Uint8Array; answers: Answer[] }][] =>
  rows.map(([what, section, bytes, ...permitted]) => {
    const answers = isForeign ? permitted : permitted.slice(0, 1)
    return [what, section, { bytes, answers }]
  })

let clients = 0
/** Encodes an MQTT 5 CONNECT with a clean start and the given fields. All other fields are valid. */
export const connect = (wrong: ConnectOptions = {}): Buffer => writeConnect(`raw-${++clients}`, wrong)

export async function answerTo(peer: TestClient): Promise<string> {
  const packet = await peer.anything()
  if (packet === 'closed') return 'closed'
  if (packet.cmd === 'pingresp') return 'nothing'
  const hex = (code: unknown): string => `0x${Number(code).toString(16).padStart(2, '0')}`
  if (packet.cmd === 'suback' || packet.cmd === 'unsuback') return `${packet.cmd} ${hex(packet.granted[0])}`
  if (packet.cmd === 'connack' && (packet.reasonCode ?? packet.returnCode) === 0) return 'connack 0x00'
  // The response counts only if the connection ends after it.
  await peer.closed
  if (packet.cmd === 'connack') return `connack ${hex(packet.reasonCode ?? packet.returnCode)}`
  return packet.cmd === 'disconnect' ? `disconnect ${hex(packet.reasonCode)}` : packet.cmd
}
