import type { NewerCall, UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { JsonText } from '../../../src/pubsub/wire/json.js'

/** A frame as the hub reads it, its JSON parsed. */
export function parsed(frame: UpFrame | NewerCall | UnknownFrame): UpFrame | NewerCall | UnknownFrame {
  if (!('payload' in frame) || !(frame.payload.data instanceof JsonText)) return frame
  return { ...frame, payload: { dataType: 'json', data: frame.payload.data.value } }
}
