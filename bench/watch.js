import { connect, get, number, set } from 'rx-statestore'
import { firstValueFrom, from, lastValueFrom, range } from 'rxjs'

/**
 * Resolves when all watched keys of a client are in step with the store.
 *
 * @param {import('rx-statestore').StateStore} store
 * @param {number} keys
 */
const synced = (store, keys) =>
  new Promise(resolve => {
    const subscription = store.status$.subscribe(status => {
      if (status.state !== 'connected' || status.synced !== keys) return
      resolve(undefined)
      queueMicrotask(() => subscription.unsubscribe())
    })
  })

const heap = () => {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/**
 * What many watched keys cost: ms for each phase, bytes of heap per key, and the resync as a multiple of as many
 * pipelined requests.
 *
 * @param {string} url
 * @param {number} keys
 * @param {(clientId: string) => void} cut - breaks the client's connection
 */
export async function measureWatch(url, keys, cut) {
  const clientId = 'bench-watch'
  const store = connect(url, { clientId, reconnect: { initial: 1, maximum: 1 } })
  const writer = connect(url, { clientId: 'bench-writer' })
  const names = Array.from({ length: keys }, (_, i) => `asset/${i}`)
  const handles = names.map(name => store.key(name, number))
  /** @type {Record<string, number>} */
  const phases = {}
  /** @param {string} name @param {() => Promise<unknown>} phase */
  const timed = async (name, phase) => {
    const started = performance.now()
    await phase()
    phases[name] = Math.round(performance.now() - started)
  }
  // The first watch pays for code and caches that all later ones share.
  await firstValueFrom(store.key('warm up', number).value$)
  const before = heap()
  let changes = 0
  /** @type {import('rxjs').Subscription[]} */
  let subscriptions = []
  await timed('start', async () => {
    subscriptions = handles.map(key => key.value$.subscribe(() => changes++))
    await synced(store, keys)
  })
  const bytesPerKey = Math.round((heap() - before) / keys)
  await timed('change all', async () => {
    const goal = changes + keys
    await lastValueFrom(
      from(names.map((_, i) => i)).pipe(set(writer, i => names[i] ?? '', number, { concurrency: 256 })),
    )
    while (changes < goal) await new Promise(resolve => setImmediate(resolve))
  })
  await timed('reconnect and resync', async () => {
    const away = new Promise(resolve => {
      const subscription = store.status$.subscribe(({ state }) => {
        if (state === 'reconnecting') resolve(queueMicrotask(() => subscription.unsubscribe()))
      })
    })
    cut(clientId)
    await away
    await synced(store, keys)
  })
  await timed('as many requests', async () => {
    await lastValueFrom(range(2 * keys).pipe(get(store, i => names[i % keys] ?? '', number, { concurrency: 128 })))
  })
  await timed('end', async () => {
    for (const subscription of subscriptions) subscription.unsubscribe()
    await firstValueFrom(store.key('marker', number).get())
  })
  await store.close()
  await writer.close()
  return { phases, bytesPerKey }
}
