import { describe, expect, it } from 'vitest'
import { RawPubSubClient } from '../../pubsub/support/raw-pubsub-client.js'
import { bundledProgram } from '../../support/bundle.js'
import { AnsweringProgram } from '../../support/running-program.js'
import { cpuShare } from './support/work.js'

const CONNECTIONS = 4
const JOINS = 60
const GROUP = 'key:big'

const program = bundledProgram(new URL('support/bridge-process.ts', import.meta.url))

describe('joins and leaves of the group of a large key', () => {
  it('do not delay other members', async () => {
    const flags = ['--disable-warning=RX_STATESTORE_SECURITY']
    const { program: bridge, ready } = await AnsweringProgram.launch(program(), [], flags)
    const connect = async (user: string): Promise<RawPubSubClient> =>
      RawPubSubClient.connect(`${ready.url}?user=${user}`)
    const [holder, innocent] = [await connect('holder'), await connect('innocent')]
    const data = { key: 'big', value: 'x'.repeat(900_000) }
    await holder.request({ type: 'event', event: 'key:set', dataType: 'json', data })
    // The bridge keeps the value as long as the group has a member.
    await holder.request({ type: 'joinGroup', group: GROUP })
    await holder.waitForFrame(frame => frame['group'] === GROUP)
    const attackers = await Promise.all(Array.from({ length: CONNECTIONS }, async () => connect('mallory')))
    for (const { socket } of attackers) {
      // The attackers ignore received messages.
      socket.removeAllListeners('message')
      for (let i = 1; i <= JOINS; i++) {
        socket.send(JSON.stringify({ type: 'joinGroup', group: GROUP }))
        socket.send(JSON.stringify({ type: 'leaveGroup', group: GROUP }))
        socket.send(JSON.stringify({ type: 'sequenceAck', sequenceId: 2 * i }))
      }
    }
    const { work: before } = await bridge.ask('work')
    const durations: number[] = []
    for (let i = 0; i < 50; i++) {
      const began = performance.now()
      await innocent.request({ type: 'leaveGroup', group: `none-${i}` })
      durations.push(performance.now() - began)
    }
    const worst = Math.max(...durations)
    const { work } = await bridge.ask('work')
    // A hub that other programs keep from running delays its members without any attack.
    const share = cpuShare(before, work)
    const words = `worst ${worst.toFixed(0)} ms with ${share.toFixed(2)} of a CPU`
    if (process.env['FIGURES']) process.stderr.write(`${words}\n`)
    expect(share * worst, words).toBeLessThan(1_000)
  })
})
