import { from } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { set, systemClock, text } from '../../../src/client/index.js'
import { optimistic } from '../../../src/client/optimistic/index.js'
import { requestsOf } from '../../support/client-requests.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'

/** Opens a client in a kept session that can lose requests. */
async function openLossyClient() {
  const { store } = await openStore({ clock: systemClock })
  const link = await layLink(store.url)
  const client = openClient(link.url, { clientId: 'lossy', timeout: 60_000 })
  const sent = requestsOf(store, clientId => clientId === 'lossy')
  const status = record(client.status$)
  await status.until(({ values }) => values.at(-1)?.state === 'connected')
  return {
    client,
    writes: () => sent().filter(request => request.startsWith('SET')),
    /** Discards everything sent during the task and cuts the connection. */
    async lose(task: () => void): Promise<void> {
      link.stall('up')
      task()
      await new Promise(resolve => setImmediate(resolve))
      const before = status.values.length
      link.cut()
      await status.until(({ values }) => values.slice(before).some(({ state }) => state === 'reconnecting'))
      link.restore()
      link.resume()
    },
  }
}

describe('a write that is lost with its connection in a kept session', () => {
  it('the next write of an optimistic view waits for only one round trip', async () => {
    const { client, writes, lose: sendAndLose } = await openLossyClient()
    const view = optimistic(client.key('dial', text))
    const states = record(view.state$)
    await states.until(({ values }) => values.at(-1)?.state === 'confirmed')
    await sendAndLose(() => view.next('1'))
    view.next('2')
    await states.until(({ values }) => values.at(-1)?.confirmed === '2')
    expect(writes()).toEqual(['SET dial 2'])
  })

  it('the next pipelined write waits one round trip, and the lost write is outcome-unknown', async () => {
    const { client, writes, lose: sendAndLose } = await openLossyClient()
    const key = client.key('dial', text)
    const results: string[] = []
    await sendAndLose(() => {
      const items$ = from(['1', '2']).pipe(set(key, { concurrency: 1, onError: 'emit' }))
      items$.subscribe(result => results.push('error' in result ? result.error.code : 'applied'))
    })
    const done = record(client.key('dial', text).value$)
    await done.until(({ values }) => values.at(-1) === '2')
    expect(writes()).toEqual(['SET dial 2'])
    expect(results).toEqual(['outcome-unknown', 'applied'])
  })

  it('a write that reached the store gets its response in the resumed session', async () => {
    const { store } = await openStore({ clock: systemClock })
    const link = await layLink(store.url)
    const client = openClient(link.url)
    const status = record(client.status$)
    await client.key('dial', text).get()
    link.stall('down')
    const written = record(client.key('dial', text).set('1'))
    const other = openClient(store.url)
    const there = record(other.key('dial', text).value$)
    await there.until(({ values }) => values.at(-1) === '1')
    const before = status.values.length
    link.cut()
    await status.until(({ values }) => values.slice(before).some(({ state }) => state === 'reconnecting'))
    link.restore()
    link.resume()
    await written.until(({ values }) => values.length === 1)
    expect(written.values[0]).toMatchObject({ applied: true })
  })
})
