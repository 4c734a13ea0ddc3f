import { encodeArray } from '../resp3/encode.js'
import { utf8 } from '../util/bytes.js'
import type { Notification } from './notifications.js'
import type { Dialect } from './replies.js'

const NOTIFY = utf8('NOTIFY')
const SET = utf8('SET')
const VALUE = utf8('VALUE')
const DELETE = { field: utf8('DELETE'), documented: utf8('DEL') } as const

/** The payload of a notification; the store always sends the value of a SET. */
export function encodeNotification(notification: Notification, dialect: Dialect = 'field'): Uint8Array {
  if (notification.op === 'delete') return encodeArray([NOTIFY, DELETE[dialect]])
  if (notification.value === undefined) return encodeArray([NOTIFY, SET])
  return encodeArray([NOTIFY, SET, VALUE, notification.value])
}
