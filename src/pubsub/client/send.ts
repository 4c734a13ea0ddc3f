import { checkFlag, checkObject, checkPositiveInteger } from '../../core/util/check.js'
import { ArgumentError } from '../../core/util/errors.js'
import type { Payload } from '../wire/frames.js'
import type { SendRequest } from './events.js'

/** Options of every send. */
export interface SendOptions {
  /** Default `binary` for a `Uint8Array`, else `json`. */
  readonly dataType?: Payload['dataType']
  /**
   * Whether the hub is to acknowledge. Default `true`. With `false` the send is done when it is handed to the socket, and
   * whether it arrives is not known.
   */
  readonly ack?: boolean
  /**
   * Send it again in a new session when the old one was lost before its acknowledgement came. Default `false`: such a
   * send fails with `outcome-unknown`. The new session does not know what the old one processed, so a message may arrive
   * twice. With the third session lost it fails all the same: the message may be what they were lost for.
   */
  readonly atLeastOnce?: boolean
  /** ms from subscribing until it has failed, outages included. Default: that of the client, 90 s. */
  readonly timeout?: number
}

/** Options of a send to a group. */
export interface GroupSendOptions extends SendOptions {
  /** Do not send it to the sender itself, should it be a member of the group. Default `false`. */
  readonly noEcho?: boolean
}

/** How a message is to be sent. Throws {@link ArgumentError} for wrong options. */
export function sendingOf(options: SendOptions, timeoutByDefault: number): Omit<SendRequest, 'frame'> {
  checkObject('options', options)
  const { ack = true, atLeastOnce = false, timeout = timeoutByDefault } = options
  checkPositiveInteger('timeout', timeout)
  checkFlag('ack', ack)
  checkFlag('atLeastOnce', atLeastOnce)
  if (atLeastOnce && !ack) {
    throw new ArgumentError('Expected one of `ack: false` and `atLeastOnce: true`, got both')
  }
  return { ack, atLeastOnce, timeout }
}

/** Whether the sender is left out. Throws {@link ArgumentError} for anything but `true` and `false`. */
export function noEchoOf({ noEcho = false }: GroupSendOptions): boolean {
  checkFlag('noEcho', noEcho)
  return noEcho
}
