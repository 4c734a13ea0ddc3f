import type { NewerCall, UnknownFrame, UpFrame } from '../../../src/pubsub/wire/frames.js'
import { JsonText } from '../../../src/pubsub/wire/json.js'

/** Parses the JSON of a frame decoded by the hub. */
export function parsed(frame: UpFrame | NewerCall | UnknownFrame): UpFrame | NewerCall | UnknownFrame {
  if (!('payload' in frame) || !(frame.payload.data instanceof JsonText)) return frame
  return { ...frame, payload: { dataType: 'json', data: frame.payload.data.value } }
}
