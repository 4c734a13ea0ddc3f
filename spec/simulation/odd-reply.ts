import type { Content } from '../../src/core/mqtt5/packets.js'
import type { Random } from './random.js'

const encoder = new TextEncoder()

/** Answers that fit no request: of another protocol, cut off, an error nobody knows, one of another request. */
const ODD = [
  '',
  '!',
  '$5\r\nab',
  '*1\r\n',
  '-ERR',
  '-ERR out of cheese',
  '-ERR the quota has been exceeded\r\n',
  '-ERR syntax error\r\n',
].map(text => encoder.encode(text))

/** The answer of a store or a broker at fault to a request. */
export function oddReply(
  random: Random,
  { correlationData }: { readonly correlationData?: Uint8Array | undefined },
): Content {
  const payload = ODD[random.int(0, ODD.length - 1)] ?? new Uint8Array()
  return { payload, correlationData, contentType: undefined, userProperties: {} }
}
