import { decode } from '../resp3/decode.js'
import { encodeArray } from '../resp3/encode.js'
import { displayText, utf8 } from '../util/bytes.js'
import { PayloadError } from '../util/errors.js'
import type { Dialect } from './replies.js'

/**
 * A change of a watched key ("KEYNOTIFY notification message format"). The notification of a SET may lack the value.
 */
export type Notification = { readonly op: 'set'; readonly value: Uint8Array | undefined } | { readonly op: 'delete' }

/** Parses a notification in either dialect. Throws {@link PayloadError} if it is malformed. */
export function parseNotification(payload: Uint8Array): Notification {
  const array = decode(payload)
  if (array.type !== 'array') throw new PayloadError(`A notification is an array, got ${array.type}`)
  const items = array.items.map(item => {
    if (item.type !== 'blob' || item.bytes === null) throw new PayloadError('A notification holds byte strings only')
    return item.bytes
  })
  const [head, op, option, value] = items
  const words = [head, op, option].map(word => word && displayText(word))
  const operation = words[1]
  if (words[0] === 'NOTIFY' && items.length === 2 && (operation === 'DELETE' || operation === 'DEL'))
    return { op: 'delete' }
  if (words[0] === 'NOTIFY' && items.length === 2 && operation === 'SET') return { op: 'set', value: undefined }
  if (words[0] === 'NOTIFY' && items.length === 4 && operation === 'SET' && words[2] === 'VALUE')
    return { op: 'set', value }
  throw new PayloadError(`Not a notification: ${words.filter(Boolean).join(' ').slice(0, 80)}`)
}

const NOTIFY = utf8('NOTIFY')
const SET = utf8('SET')
const VALUE = utf8('VALUE')
const DELETE = { field: utf8('DELETE'), documented: utf8('DEL') } as const

/** Encodes a notification. The store always includes the value of a SET. */
export function encodeNotification(notification: Notification, dialect: Dialect = 'field'): Uint8Array {
  if (notification.op === 'delete') return encodeArray([NOTIFY, DELETE[dialect]])
  if (notification.value === undefined) return encodeArray([NOTIFY, SET])
  return encodeArray([NOTIFY, SET, VALUE, notification.value])
}
