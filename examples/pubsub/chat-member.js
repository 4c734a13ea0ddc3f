import { connectPubSub } from 'rx-statestore/pubsub'
import { say } from '../transcript.js'

export const GROUP = 'kitchen'

/** A member of the group that records its messages. */
export class ChatMember {
  /** The received messages, in order. @type {unknown[]} */
  received = []
  /** @type {import('rx-statestore/pubsub').Gap[]} */
  gaps = []
  #name

  /**
   * @param {'ann' | 'bob'} name
   * @param {() => Promise<string>} url - called for every session
   */
  constructor(name, url) {
    this.#name = name
    this.client = connectPubSub(url, { recoveryWindow: 5_000, reconnect: { initial: 50, max: 200 } })
    this.group = this.client.group(GROUP)
    this.group.messages$.subscribe(({ data }) => {
      this.received.push(data)
      say(name, `receives ${JSON.stringify(data)}`)
    })
    this.group.gaps$.subscribe(gap => {
      this.gaps.push(gap)
      say(name, `missed the messages of ${Math.round(gap.to - gap.from)} ms`)
    })
    this.client.status$.subscribe(status => this.#show(status))
  }

  /** @param {import('rx-statestore/pubsub').PubSubStatus} status */
  #show(status) {
    const { state } = status
    if (state === 'connected') say(this.#name, `is connected: session ${status.connectionId.slice(0, 6)}`)
    // Every attempt emits a status, but only the first one is printed.
    else if (state !== 'recovering' || status.attempt === 1) say(this.#name, `is ${state}`)
  }
}
