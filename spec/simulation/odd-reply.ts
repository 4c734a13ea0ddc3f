import type { Content } from '../../src/core/mqtt5/packets.js'
import type { Random } from './random.js'

const encoder = new TextEncoder()

/** Replies that fit no request: of another protocol, truncated, with an unknown error, or for another request. */
const ODD_REPLIES = [
  '',
  '!',
  '$5\r\nab',
  '*1\r\n',
  '-ERR',
  '-ERR out of cheese',
  '-ERR the quota has been exceeded\r\n',
  '-ERR syntax error\r\n',
].map(text => encoder.encode(text))

/** Returns the response of a faulty store or broker to a request. */
export function oddReply(
  random: Random,
  { correlationData }: { readonly correlationData?: Uint8Array | undefined },
): Content {
  const payload = ODD_REPLIES[random.int(0, ODD_REPLIES.length - 1)] ?? new Uint8Array()
  return { payload, correlationData, contentType: undefined, userProperties: {} }
}
