import type { Content } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { encodeNotification } from '../../core/protocol/notifications.js'
import { CONTENT_TYPE, type GoneReason, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import type { Dialect } from '../../core/protocol/replies.js'
import { notificationPrefix } from '../../core/protocol/topics.js'
import { toHex } from '../../core/util/bytes.js'
import type { KeyChange } from '../engine/engine.js'
import { isTopicName } from './topic-rules.js'

const SET_WITHOUT_VALUE = encodeNotification({ op: 'set', value: undefined })
const NOTIFICATION_PROPERTIES = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION, [PROPERTY.highPriority]: '' }

/** Sends the notifications of changes to a key's watchers. */
export class WatchNotifier {
  readonly #dialect: Dialect
  readonly #onlySubscribed: boolean
  readonly #prefixes = new WeakMap<Client, string>()

  /** @param onlySubscribed - whether only clients that also subscribe to the topic are notified */
  constructor(dialect: Dialect, onlySubscribed: boolean) {
    this.#dialect = dialect
    this.#onlySubscribed = onlySubscribed
  }

  /** Notifies the watchers of a change. Returns the number of notified clients. */
  notify(change: KeyChange, watchers: Iterable<Client>, properties?: Readonly<Record<string, string>>): number {
    let notified = 0
    let content: Content | undefined
    let key: string | undefined
    for (const watcher of watchers) {
      key ??= toHex(change.key)
      const topic = this.#prefixOf(watcher) + key
      // The topic of a long key exceeds the MQTT limit.
      if (!isTopicName(topic) || (this.#onlySubscribed && !watcher.subscribes(topic))) continue
      content ??= this.#contentOf(change, properties)
      // Without a notification, a watcher would take its last value for the current one.
      const isTooLarge = change.notification.op === 'set' && watcher.exceededPacketSize?.(topic, content) !== undefined
      watcher.deliver(topic, isTooLarge ? { ...content, payload: SET_WITHOUT_VALUE } : content)
      notified++
    }
    return notified
  }

  #prefixOf(watcher: Client): string {
    const cachedPrefix = this.#prefixes.get(watcher)
    if (cachedPrefix !== undefined) return cachedPrefix
    const prefix = notificationPrefix(watcher.clientId)
    this.#prefixes.set(watcher, prefix)
    return prefix
  }

  #contentOf({ notification, version, isExpired }: KeyChange, properties?: Readonly<Record<string, string>>): Content {
    const reason: GoneReason = isExpired ? 'expired' : 'deleted'
    return {
      payload: encodeNotification(notification, this.#dialect),
      contentType: CONTENT_TYPE,
      userProperties: {
        ...properties,
        [PROPERTY.timestamp]: String(version),
        ...(notification.op === 'delete' && { [PROPERTY.reason]: reason }),
      },
      commonProperties: NOTIFICATION_PROPERTIES,
    }
  }
}
