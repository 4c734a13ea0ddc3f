import { AWAY, INSTANCE_TOPIC } from '../../../src/core/protocol/topics.js'
import { utf8 } from '../../../src/core/util/bytes.js'
import { SimBroker } from './broker.js'
import type { SimConnection } from './connection.js'
import type { Failover } from './watch-schedule.js'

/** A broker with an attached store, which announces its instance id and may be replaced while connections last. */
export class BesideBroker extends SimBroker {
  #instances = 0
  #awayUntil = 0
  #announcement = this.setting.instanceId?.name ?? ''

  failOver({ keepData, outage, isAnnounced }: Failover): void {
    if (!this.isUp) return
    const { time } = this.setting
    const until = time.now + outage
    this.#awayUntil = Math.max(this.#awayUntil, until)
    this.server.stop()
    for (const connection of this.connected) this.server.removeConnection(connection)
    if (!keepData) this.loseData()
    if (isAnnounced) this.#announce(AWAY)
    time.after(outage, () => {
      if (this.isUp && this.#awayUntil === until) this.start()
    })
  }

  protected override start(): void {
    super.start()
    this.#awayUntil = 0
    if (this.setting.instanceId) this.setting.instanceId.name = `life ${++this.#instances}`
    this.#announce(this.setting.instanceId?.name ?? '')
  }

  protected override get isAway(): boolean {
    return this.setting.time.now < this.#awayUntil
  }

  protected override subscribed(connection: SimConnection, filter: string): void {
    if (filter === INSTANCE_TOPIC) this.#announceStatus(connection)
  }

  #announce(instanceId: string): void {
    this.#announcement = instanceId
    for (const connection of this.connected)
      if (connection.session.filters.has(INSTANCE_TOPIC)) this.#announceStatus(connection)
  }

  #announceStatus(connection: SimConnection): void {
    connection.deliver(INSTANCE_TOPIC, { payload: utf8(this.#announcement), userProperties: {} })
  }
}
