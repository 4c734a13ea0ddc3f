// Many watched keys in one client.
import { connect, get, number, set } from 'rx-statestore'
import { concat, firstValueFrom, lastValueFrom, NEVER, of, range } from 'rxjs'
import { startStore } from './child.js'
import { bytes, median, ms, progress, spread, times } from './report.js'

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

const PHASES = /** @type {const} */ ([
  'start',
  'change all',
  'reconnect and resync',
  'twice as many requests',
  'one request each',
  'end',
])

/** @typedef {(typeof PHASES)[number]} Phase */

/**
 * @param {import('./rounds.js').Effort} effort
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureWatch({ quick, rounds }) {
  const keys = quick ? 1_000 : 10_000
  const server = await startStore()
  const bench = new WatchBench(server, keys)
  for (let round = 0; round <= rounds; round++) await bench.round(round)
  await bench.writer.close()
  await server.close()
  const timings = bench.timings.slice(1)
  const [inGroup, alone] = [bench.bytesPerKey.slice(1), bench.bytesPerSubscription.slice(1)]
  const rows = PHASES.map(phase => {
    const took = timings.map(timing => timing[phase])
    const [least, most] = [Math.min(...took), Math.max(...took)]
    return { phase, median: ms(median(took)), least: ms(least), most: ms(most) }
  })
  const ratios = timings.map(timing => timing['reconnect and resync'] / timing['twice as many requests'])
  const shown = keys.toLocaleString('en')
  return [
    { title: `Watch of ${shown} keys`, rows },
    {
      title: `Watch of ${shown} keys, what must come out`,
      rows: [
        { what: 'resync / as many pipelined requests', median: times(median(ratios)), spread: times(spread(ratios)) },
        { what: 'heap per watched key', median: bytes(median(inGroup)), spread: bytes(spread(inGroup)) },
        { what: 'with a subscription each', median: bytes(median(alone)), spread: bytes(spread(alone)) },
      ],
    },
  ]
}

class WatchBench {
  /** @type {Record<Phase, number>[]} */
  timings = []
  /** @type {number[]} */
  bytesPerKey = []
  /** @type {number[]} */
  bytesPerSubscription = []

  /** @param {import('./child.js').Child & { url: string }} server @param {number} keys */
  constructor(server, keys) {
    this.server = server
    this.writer = connect(server.url, { clientId: 'bench-writer' })
    this.names = Array.from({ length: keys }, (_, i) => `asset/${i}`)
  }

  /**
   * With a client of its own, so that nothing of the round before is taken for what a watch costs.
   *
   * @param {number} round
   */
  async round(round) {
    /** @type {Record<string, number>} */
    const took = {}
    /** @param {Phase} name @param {() => Promise<unknown>} phase */
    const timed = async (name, phase) => {
      progress(`watch of ${this.names.length} keys, round ${round}: ${name}`)
      const started = performance.now()
      await phase()
      took[name] = performance.now() - started
    }
    const { names, server } = this
    const clientId = `bench-watch-${round}`
    const store = connect(server.url, { clientId, reconnect: { initial: 1, max: 1 } })
    // The first watch pays for what all later ones share.
    await firstValueFrom(store.key('marker', number).value$)
    let changes = 0
    const before = heap()
    const all$ = store.watchAll(concat(of(names), NEVER), number)
    const all = all$.subscribe(() => changes++)
    await timed('start', () => synced(store, names.length))
    this.bytesPerKey.push((heap() - before) / names.length)
    await timed('change all', async () => {
      const goal = changes + names.length
      await this.#writeAll(round)
      while (changes < goal) await new Promise(resolve => setImmediate(resolve))
    })
    await timed('reconnect and resync', () => this.#resync(store, clientId))
    await timed('twice as many requests', () => this.#readAll(store, 2))
    await timed('one request each', () => this.#readAll(store, 1))
    await timed('end', async () => {
      all.unsubscribe()
      await firstValueFrom(store.key('marker', number).get())
    })
    await store.close()
    this.bytesPerSubscription.push(await this.#subscribeEach(`${clientId}-each`))
    this.timings.push(/** @type {Record<Phase, number>} */ (took))
  }

  /** Heap per key, bytes, when each is subscribed by itself. @param {string} clientId */
  async #subscribeEach(clientId) {
    const { names, server } = this
    const store = connect(server.url, { clientId })
    await firstValueFrom(store.key('marker', number).value$)
    let changes = 0
    const before = heap()
    for (const name of names) store.key(name, number).value$.subscribe(() => changes++)
    await synced(store, names.length)
    const perKey = (heap() - before) / names.length
    await store.close()
    return perKey
  }

  /** @param {number} round */
  #writeAll(round) {
    const { names, writer } = this
    const first = round * names.length
    const nameOf = (/** @type {number} */ value) => names[value - first] ?? ''
    return lastValueFrom(range(first, names.length).pipe(set(writer, nameOf, number, { concurrency: 256 })))
  }

  /** @param {import('rx-statestore').StateStore} store @param {string} clientId */
  async #resync(store, clientId) {
    const away = new Promise(resolve => {
      const subscription = store.status$.subscribe(({ state }) => {
        if (state === 'reconnecting') resolve(queueMicrotask(() => subscription.unsubscribe()))
      })
    })
    await this.server.ask({ cut: clientId })
    await away
    await synced(store, this.names.length)
  }

  /** @param {import('rx-statestore').StateStore} store @param {number} times */
  #readAll(store, times) {
    const { names } = this
    const read = get(store, (/** @type {number} */ i) => names[i % names.length] ?? '', number, { concurrency: 256 })
    return lastValueFrom(range(times * names.length).pipe(read))
  }
}
