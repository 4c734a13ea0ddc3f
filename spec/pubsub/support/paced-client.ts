import type { HubDriver } from '../../../src/pubsub/hub/hub-driver.js'
import type { HubSession } from '../../../src/pubsub/hub/hub-session.js'
import { SharedCodec } from '../../../src/pubsub/hub/shared-codec.js'
import { jsonHubCodec } from '../../../src/pubsub/wire/json-hub-codec.js'
import type { ManualClock } from '../../support/manual-clock.js'
import { VirtualLink } from './virtual-link.js'

const codec = new SharedCodec(jsonHubCodec)
const roles = ['webpubsub.sendToGroup']

/** A client whose frames wait while it is held. */
export class PacedClient extends VirtualLink {
  readonly session: HubSession
  readonly #hub: HubDriver
  readonly #waiting: object[] = []
  #held = false

  constructor(hub: HubDriver, groups: readonly string[] = []) {
    super()
    this.#hub = hub
    this.session = hub.connect(this, codec, { roles, groups })
  }

  override hold(): boolean {
    this.#held = true
    return true
  }

  override release(): void {
    this.#held = false
    this.#work()
  }

  take(...frames: readonly object[]): void {
    for (const frame of frames) {
      const isAhead =
        this.#held && !this.isReadPaused && this.#hub.receiveAcknowledgement(this.session, this, JSON.stringify(frame))
      if (!isAhead) this.#waiting.push(frame)
    }
    this.#work()
  }

  publish(group: string, count: number): void {
    for (let ackId = 1; ackId <= count; ackId++) this.take({ type: 'sendToGroup', group, data: ackId, ackId })
  }

  get acks(): number {
    return this.parsed.filter(({ success }) => success === true).length
  }

  #work(): void {
    while (!this.#held) {
      const frame = this.#waiting.shift()
      if (frame === undefined) return
      const work = this.#hub.receive(this.session, this, JSON.stringify(frame))
      if (work === 0) this.#waiting.unshift(frame)
    }
  }
}

/** Makes a member acknowledge its messages after `latencyMs` ms. */
export function acknowledge(member: PacedClient, clock: ManualClock, latencyMs: number): void {
  clock.schedule(2 * latencyMs, () => {
    member.take({ type: 'sequenceAck', sequenceId: member.sequenceIds.length })
    acknowledge(member, clock, latencyMs)
  })
}
