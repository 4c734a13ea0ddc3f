import { checkObject } from '../../check.js'
import { ArgumentError, shown } from '../../errors.js'
import type { Payload } from '../wire/frames.js'

/** How a message of the application is sent. */
export interface MessageOptions {
  /** Kind of the data. Default `binary` for a `Uint8Array`, `json` for anything else. */
  readonly dataType?: Payload['dataType'] | undefined
}

/** How a message of the application is sent to several. */
export interface SendOptions extends MessageOptions {
  /** Connection ids that do not get it. Default none. */
  readonly exclude?: readonly string[] | undefined
}

/** The payload of an application's message. Throws {@link ArgumentError} when the data is not of the type. */
export function payloadOf(data: unknown, options: MessageOptions = {}): Payload {
  checkObject('options', options)
  const { dataType = data instanceof Uint8Array ? 'binary' : 'json' } = options
  if (dataType === 'json') return { dataType, data }
  if (dataType === 'text' && typeof data === 'string') return { dataType, data }
  if ((dataType === 'binary' || dataType === 'protobuf') && data instanceof Uint8Array) return { dataType, data }
  throw new ArgumentError(`Expected data of type ${shown(dataType)}, got a ${typeof data}`)
}

/** Who does not get a message. Throws {@link ArgumentError} for what is no list of connection ids. */
export function excludedOf({ exclude }: SendOptions): ReadonlySet<string> | undefined {
  if (exclude === undefined) return undefined
  if (Array.isArray(exclude) && exclude.every(id => typeof id === 'string')) return new Set(exclude)
  throw new ArgumentError(`Expected \`exclude\` to be an array of connection ids, got \`${shown(exclude)}\``)
}
