import type { Content } from '../../core/mqtt5/packets.js'
import type { Client } from '../../core/mqtt5/peer.js'
import { encodeNotification } from '../../core/protocol/notifications.js'
import { CONTENT_TYPE, PROPERTY, PROTOCOL_VERSION } from '../../core/protocol/properties.js'
import type { Dialect } from '../../core/protocol/replies.js'
import { notificationPrefix } from '../../core/protocol/topics.js'
import { toHex } from '../../core/util/bytes.js'
import type { Change } from '../engine/engine.js'
import { isTopicName } from './topic-rules.js'

const COMMON = { [PROPERTY.protocolVersion]: PROTOCOL_VERSION, [PROPERTY.highPriority]: '' }

/** Tells watchers what changed. */
export class Notifier {
  readonly #dialect: Dialect
  readonly #onlySubscribed: boolean
  readonly #prefixes = new WeakMap<Client, string>()

  /** @param onlySubscribed - tells only those who subscribed to the topic, too */
  constructor(dialect: Dialect, onlySubscribed: boolean) {
    this.#dialect = dialect
    this.#onlySubscribed = onlySubscribed
  }

  /** Returns how many were told. */
  notify(change: Change, watchers: Iterable<Client>): number {
    let told = 0
    let content: Content | undefined
    let key: string | undefined
    for (const watcher of watchers) {
      key ??= toHex(change.key)
      const topic = this.#prefixOf(watcher) + key
      // A long key has a topic that MQTT cannot carry.
      if (!isTopicName(topic) || (this.#onlySubscribed && !watcher.subscribes(topic))) continue
      content ??= this.#contentOf(change)
      watcher.deliver(topic, content)
      told++
    }
    return told
  }

  #prefixOf(watcher: Client): string {
    const known = this.#prefixes.get(watcher)
    if (known !== undefined) return known
    const prefix = notificationPrefix(watcher.clientId)
    this.#prefixes.set(watcher, prefix)
    return prefix
  }

  #contentOf({ notification, version }: Change): Content {
    return {
      payload: encodeNotification(notification, this.#dialect),
      contentType: CONTENT_TYPE,
      userProperties: { [PROPERTY.timestamp]: String(version) },
      commonProperties: COMMON,
    }
  }
}
