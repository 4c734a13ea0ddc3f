import type { Observable } from 'rxjs'
import { checkObject, checkPositiveInteger } from '../../check.js'
import { ArgumentError } from '../../errors.js'
import type { Payload } from '../wire/frames.js'
import { checkFlag } from './check.js'
import type { SendRequest, SendResult } from './events.js'

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
  /** Spare the sender, should it have joined the group. Default `false`. */
  readonly noEcho?: boolean
}

/** Makes a send happen when it is subscribed to. */
export type Sender = (request: SendRequest) => Observable<SendResult>

/** How a message is to be sent. Throws {@link ArgumentError} for options that are none. */
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

/** Whether the sender is to be spared. Throws {@link ArgumentError} for what is neither `true` nor `false`. */
export function noEchoOf({ noEcho = false }: GroupSendOptions): boolean {
  checkFlag('noEcho', noEcho)
  return noEcho
}
