import { describe, expect, it } from 'vitest'
import { PendingWrites } from '../../../../src/pubsub/bridge/key-writer.js'
import { RawPubSubClient } from '../../../pubsub/support/raw-pubsub-client.js'
import { bundledProgram } from '../../../support/bundle.js'
import { AnsweringProgram } from '../../../support/running-program.js'

const MB = 1024 * 1024
/** The permitted growth of the process: the limit of the bridge plus uncollected garbage, in MB. */
const MAX_GROWTH_MB = 200
const CONNECTIONS = 4
const FRAMES = 30

const program = bundledProgram(new URL('../support/bridge-process.ts', import.meta.url))

async function openBridgeProcess() {
  const flags = ['--expose-gc', '--disable-warning=RX_STATESTORE_SECURITY']
  const { program: bridge, ready } = await AnsweringProgram.launch(program(), [], flags)
  const ask = async (command: 'up' | 'down' | 'memory'): Promise<{ held: number; peak: number }> => {
    const { held, peak } = await bridge.ask(command)
    return { held: held / MB, peak: peak / MB }
  }
  return { connect: async (user: string) => RawPubSubClient.connect(`${ready.url}?user=${user}`), ask }
}

const write = (key: string, value: unknown) => ({
  type: 'event',
  event: 'key:set',
  dataType: 'json',
  data: { key, value },
})

describe('writes through a bridge whose store is unreachable', () => {
  it.each([
    ['without acks', false],
    ['with acks', true],
  ])('writes %s to an unreachable store take limited memory, and other users still write', async (_, isAnswered) => {
    const { connect, ask } = await openBridgeProcess()
    const innocent = await connect('innocent')
    const before = await ask('down')
    const attackers = await Promise.all(Array.from({ length: CONNECTIONS }, async () => connect('mallory')))
    // A value of empty arrays takes many times more memory parsed than as text.
    const value = Array.from({ length: 100_000 }, () => [])
    const frame = write('k', value)
    const flood = attackers.map(async ({ socket }) => {
      for (let i = 0; i < FRAMES && socket.readyState === socket.OPEN; i++) {
        const text = JSON.stringify(isAnswered ? { ...frame, ackId: i + 1 } : frame)
        await new Promise(resolve => socket.send(text, resolve))
      }
    })
    await Promise.all(flood)
    const pending = innocent.request(write('mine', 1))
    const { held, peak } = await ask('memory')
    await ask('up')
    expect(await pending).toMatchObject({ success: true })
    const words = `${held.toFixed(0)} MB held, peak ${peak.toFixed(0)} MB`
    if (process.env['FIGURES']) console.info(words)
    expect(held - before.held, words).toBeLessThan(MAX_GROWTH_MB)
  })
})

describe('pending writes of a bridge', () => {
  const MAX = 1_000
  let cancelled: string[] = []
  const write = (connectionId: string, costBytes: number, userId?: string) => ({
    connectionId,
    owner: userId ?? connectionId,
    costBytes,
    cancel: () => cancelled.push(userId ?? connectionId),
  })

  it('for other users, the bridge evicts the newest writes of a user with many connections', () => {
    cancelled = []
    const pending = new PendingWrites(MAX)
    for (let i = 0; i < 100; i++) pending.tryAdd(write(String(i), 10, 'mallory'))
    expect([pending.tryAdd(write('100', 10, 'mallory')), cancelled]).toEqual([false, []])
    expect([pending.tryAdd(write('a', 25, 'ann')), pending.tryAdd(write('b', 5)), cancelled]).toEqual([
      true,
      true,
      ['mallory', 'mallory', 'mallory'],
    ])
    expect(pending.costBytes).toBe(MAX)
  })

  it('the bridge accepts writes of a new user regardless of the number of other users', () => {
    const pending = new PendingWrites(MAX)
    for (let i = 0; i < 50; i++) while (pending.tryAdd(write(String(i), 1)));
    expect([pending.tryAdd(write('newcomer', 1)), pending.costBytes]).toEqual([true, MAX])
  })

  it('a connection has at most a thousand pending writes, counted until removed', () => {
    const pending = new PendingWrites()
    const writes = Array.from({ length: 1_001 }, () => write('a', 1))
    expect(writes.filter(each => pending.tryAdd(each))).toHaveLength(1_000)
    for (const each of writes) pending.remove(each)
    expect([pending.costBytes, pending.tryAdd(write('a', 1))]).toEqual([0, true])
  })
})
