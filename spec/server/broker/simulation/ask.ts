import type { Action } from './schedule.js'
import type { SimClient } from './sim-client.js'

type Else = 'wait' | 'connect' | 'publish' | 'kill'

/** Performs client actions that concern the connection rather than messages. */
export function ask(client: SimClient, action: Exclude<Action, { type: Else }>): void {
  switch (action.type) {
    case 'subscribe': {
      const { filter, qos, noLocal, retainAsPublished, retainHandling, id } = action
      const options = client.version === 5 && { nl: noLocal, rap: retainAsPublished, rh: retainHandling }
      const properties = client.version === 5 && id !== undefined && { properties: { subscriptionIdentifier: id } }
      const subscriptions = [{ topic: filter, qos, ...options }]
      client.request(messageId => ({ cmd: 'subscribe', messageId, subscriptions, ...properties }))
      return
    }
    case 'unsubscribe':
      client.request(messageId => ({ cmd: 'unsubscribe', messageId, unsubscriptions: [action.filter] }))
      return
    case 'ping':
      client.request(() => ({ cmd: 'pingreq' }))
      return
    case 'hold':
      client.holdsAcknowledgements = true
      return
    case 'release':
      client.release()
      client.stalled = false
      return
    case 'stall':
      client.stalled = true
      return
    case 'acknowledge':
      client.acknowledge(action.refusing, action.last)
      return
    case 'disconnect': {
      const { withWill, expiry } = action
      const properties = expiry !== undefined && { properties: { sessionExpiryInterval: expiry } }
      const told = client.version === 5 && { reasonCode: withWill ? 0x04 : 0, ...properties }
      client.request(() => ({ cmd: 'disconnect', ...told }))
      leave(client)
      return
    }
    case 'finish':
      leave(client)
  }
}

function leave(client: SimClient): void {
  if (client.link) client.link.hasFinished = true
  client.link = undefined
}
