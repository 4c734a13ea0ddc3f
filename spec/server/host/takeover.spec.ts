import { describe, expect, it } from 'vitest'
import { openStore } from '../../support/open-store.js'
import { connect } from '../../support/packets.js'
import { RawSocket } from '../../support/raw-socket.js'
import { StoreClient } from '../../support/store-client.js'
import { command } from '../../support/words.js'

const SESSION_TAKEN_OVER = 142
const CONNACK = 0x20

async function open() {
  const { store } = await openStore()
  const observer = await StoreClient.ready(store.url, 'observer')
  const alice = await StoreClient.ready(store.url, 'alice')
  await alice.request(command('KEYNOTIFY k'))
  return { store, observer, alice }
}

/** Waits long enough for the server to handle all received packets. */
async function settleFully(observer: StoreClient): Promise<void> {
  for (let i = 0; i < 20; i++) await observer.settled()
}

describe('a session takeover', () => {
  it('leaves one connection of the client, without watches', async () => {
    const { store, alice } = await open()
    await StoreClient.ready(store.url, 'alice')
    expect(await alice.dismissed()).toBe(SESSION_TAKEN_OVER)
    expect([...store.clientIds].sort()).toEqual(['alice', 'observer'])
    expect([store.stats.connections, store.stats.watches]).toEqual([2, 0])
  })

  it('leaves no connection if the new connection ends immediately', async () => {
    const { store, observer, alice } = await open()
    const raw = await RawSocket.open(store.url)
    await raw.send(connect('alice'))
    raw.socket.destroy()
    await alice.closed
    await settleFully(observer)
    expect([store.clientIds, store.stats.connections, store.stats.watches]).toEqual([['observer'], 1, 0])
  })

  it('leaves one connection even if several takeovers are concurrent', async () => {
    const { store, observer, alice } = await open()
    const raws = await Promise.all([1, 2, 3].map(async () => RawSocket.open(store.url)))
    await Promise.all(raws.map(async raw => raw.send(connect('alice'))))
    await alice.closed
    await Promise.all(raws.map(async raw => Promise.race([raw.first(1), raw.closed])))
    await settleFully(observer)
    expect(store.clientIds.filter(id => id === 'alice')).toEqual(['alice'])
    const answers = await Promise.all(raws.map(async raw => raw.first()))
    expect(answers.some(([first]) => first === CONNACK)).toBe(true)
    for (const raw of raws) raw.socket.destroy()
    await settleFully(observer)
    expect([store.clientIds, store.stats.connections, store.stats.watches]).toEqual([['observer'], 1, 0])
  })
})
