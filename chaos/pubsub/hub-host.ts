import type { PubSubClient } from 'rx-statestore/pubsub'
import { connectPubSub } from 'rx-statestore/pubsub'
import type { Hub, PubSubServer } from 'rx-statestore/pubsub/server'
import { servePubSub } from 'rx-statestore/pubsub/server'
import { freePort } from '../../harness/free-port.js'
import type { HubRecord } from '../../harness/judges/hub-recording.js'
import { now } from '../now.js'
import { until } from '../random-interval.js'
import type { Recorder } from '../recorder.js'
import type { Run } from '../run.js'

/** A client, as the hub's records need it. */
interface HubMember {
  recordMembership(type: 'joined' | 'left', connectionId: string, group: number): void
}

export interface PubSubContext extends Pick<Run, 'tally' | 'violations'> {
  readonly groups: number
  readonly recorder: Recorder<HubRecord>
  /** the members by user id, which is unique to each client */
  readonly members: Map<string, HubMember>
}

/** The retention in ms, which is short so that sessions expire during a run. */
const RETENTION_MS = 1_000
const IDLE_TIMEOUT_MS = 2_000
const QUIET_TIMEOUT_MS = 10_000
const ROLES = ['webpubsub.joinLeaveGroup', 'webpubsub.sendToGroup']
const WITNESS = 'witness'

/**
 * Runs the hub, which is restarted repeatedly, and one witness per group. A witness is a member whose link has no
 * faults.
 */
export class HubHost {
  /** The number of starts. */
  run = 0
  #context
  #server: PubSubServer | undefined
  #witnesses: readonly PubSubClient[] = []
  #port = 0
  #open = () => {}
  /** Resolves when the witnesses are admitted, which come before the clients. */
  #opened = Promise.resolve()

  constructor(context: PubSubContext) {
    this.#context = context
  }

  get port() {
    return this.#port
  }

  async start() {
    this.#opened = new Promise(resolve => {
      this.#open = () => resolve(undefined)
    })
    this.run++
    this.#port ||= await freePort()
    this.#server = await servePubSub({
      port: this.#port,
      retention: RETENTION_MS,
      idleTimeout: IDLE_TIMEOUT_MS,
      authenticate: async ({ query }) => {
        const userId = query.get('user') ?? ''
        if (userId !== WITNESS) await this.#opened
        return { userId, roles: ROLES }
      },
    })
    this.#listen(this.#server.hub('chaos'))
    await this.#connectWitnesses(this.#server.hub('chaos'))
    this.#open()
  }

  async kill() {
    await this.#server?.close()
    await this.#closeWitnesses()
    this.#context.recorder.write({ type: 'hub ended', at: now() })
  }

  async stop() {
    await this.#closeWitnesses()
    const count = () => this.#server?.hub('chaos').connections.length ?? 0
    if (!(await until(QUIET_TIMEOUT_MS, () => count() === 0)))
      this.#context.violations.add('left behind', `${count()} sessions`)
    await this.#server?.close()
  }

  #listen(hub: Hub) {
    const { recorder, tally, violations, members } = this.#context
    hub.events$.subscribe(event => {
      recorder.write({ type: 'event', id: Number(event.payload.data) })
      event.accept()
    })
    hub.connections$.subscribe(event => {
      if (event.type !== 'disconnected') return
      if (event.reason === 'expired') tally.add('expired sessions')
      if (event.reason === 'overflow') tally.add('overflowed sessions')
      if (event.reason === 'violation') violations.add('invalid frame', event.connection.userId)
    })
    hub.memberships$.subscribe(({ type, connection: { userId = '', connectionId }, group }) => {
      members.get(userId)?.recordMembership(type, connectionId, Number(group))
      // This message arrives after all messages that the client received as a member.
      if (type === 'left') hub.sendToConnection(connectionId, Number(group))
    })
  }

  async #connectWitnesses(hub: Hub) {
    const { recorder, violations, groups } = this.#context
    const { run } = this
    // Each group has one witness, so that no witness receives so many messages that the hub disconnects it.
    this.#witnesses = Array.from({ length: groups }, (_, group) => {
      const witness = connectPubSub(`${hub.url}?user=${WITNESS}`)
      const { messages$, gaps$ } = witness.group(String(group))
      messages$.subscribe(({ data }) => recorder.write({ type: 'published', run, group, id: idOf(data) }))
      gaps$.subscribe(() => violations.add('the run itself', 'a witness has a gap'))
      return witness
    })
    const areThere = () => hub.connections.filter(connection => connection.groups.length === 1).length === groups
    if (!(await until(QUIET_TIMEOUT_MS, areThere))) violations.add('the run itself', 'no witnesses')
  }

  async #closeWitnesses() {
    for (const witness of this.#witnesses) await witness.close()
  }
}

/** Returns the number of the message with this data. */
export const idOf = (data: unknown) =>
  typeof data === 'object' && data !== null && 'id' in data && 'pad' in data && isIntact(data.pad)
    ? Number(data.id)
    : Number.NaN

const isIntact = (pad: unknown) => typeof pad === 'string' && /^é*$/.test(pad)
