// One export each, so that a client carries those alone that it names.
// Property identifiers (MQTT 5.0, section 2.2.2.2).

export const payloadFormat = 0x01
export const messageExpiry = 0x02
export const contentType = 0x03
export const responseTopic = 0x08
export const correlationData = 0x09
export const subscriptionId = 0x0b
export const sessionExpiry = 0x11
export const assignedClientId = 0x12
export const serverKeepAlive = 0x13
export const authenticationMethod = 0x15
export const authenticationData = 0x16
export const requestProblemInformation = 0x17
export const willDelay = 0x18
export const requestResponseInformation = 0x19
export const responseInformation = 0x1a
export const serverReference = 0x1c
export const reasonString = 0x1f
export const receiveMaximum = 0x21
export const topicAliasMaximum = 0x22
export const topicAlias = 0x23
export const maximumQos = 0x24
export const retainAvailable = 0x25
export const userProperties = 0x26
export const maximumPacketSize = 0x27
export const wildcardSubscriptionAvailable = 0x28
export const subscriptionIdsAvailable = 0x29
export const sharedSubscriptionAvailable = 0x2a
