// The topics of the protocol, repeated here so that specs do not rely on the code under test.

export const INVOKE_TOPIC = 'statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke'
export const RESERVED = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

export const responseTopicOf = (clientId: string): string =>
  `clients/${clientId}/services/statestore/_any_/command/invoke/response`

const hex = (text: string): string => Buffer.from(text, 'latin1').toString('hex').toUpperCase()

/** Returns the notification topic of a client for a key. Without a key, returns the filter for all keys. */
export const notificationTopicOf = (clientId: string, key?: string): string =>
  `${RESERVED}/${hex(clientId)}/command/notify/${key === undefined ? '+' : hex(key)}`
