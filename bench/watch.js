// Measures one client that watches many keys.
import { connect, number, set } from 'rx-statestore'
import { concat, firstValueFrom, lastValueFrom, mergeMap, NEVER, of, range } from 'rxjs'
import { startStore } from './support/child.js'
import { bytes, median, ms, progress, spread, times } from './support/report.js'

/**
 * Resolves when all watched keys of a client are synchronised with the store.
 *
 * @param {import('rx-statestore').StateStore} store
 * @param {number} keys
 */
const synced = (store, keys) =>
  new Promise(resolve => {
    const subscription = store.stats$.subscribe(({ synced }) => {
      if (synced !== keys) return
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
 * @param {import('./support/rounds.js').Effort} effort
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureWatch({ quick, rounds }) {
  const keys = quick ? 1_000 : 10_000
  const server = await startStore()
  const bench = new WatchBench(server, keys)
  for (let round = 0; round <= rounds; round++) await bench.round(round)
  await bench.writer.close()
  await server.close()
  const timings = bench.timings.slice(1)
  const [shared, separate] = [bench.bytesPerKey.slice(1), bench.bytesPerSubscription.slice(1)]
  const rows = PHASES.map(phase => {
    const took = timings.map(timing => timing[phase])
    return { phase, median: ms(median(took)), min: ms(Math.min(...took)), max: ms(Math.max(...took)) }
  })
  const ratios = timings.map(timing => timing['reconnect and resync'] / timing['twice as many requests'])
  const keyCount = keys.toLocaleString('en')
  return [
    { title: `Watch of ${keyCount} keys`, rows },
    {
      title: `Watch of ${keyCount} keys, ratio and memory`,
      rows: [
        {
          what: 'resync / equal number of pipelined requests',
          median: times(median(ratios)),
          spread: times(spread(ratios)),
        },
        { what: 'heap per watched key', median: bytes(median(shared)), spread: bytes(spread(shared)) },
        {
          what: 'heap per key with separate subscriptions',
          median: bytes(median(separate)),
          spread: bytes(spread(separate)),
        },
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

  /** @param {import('./support/child.js').Child & { url: string }} server @param {number} keys */
  constructor(server, keys) {
    this.server = server
    this.writer = connect(server.url, { clientId: 'bench-writer' })
    this.names = Array.from({ length: keys }, (_, i) => `asset/${i}`)
  }

  /**
   * Runs a round with a new client, so that leftovers of the previous round are not measured.
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
    // The first watch allocates memory that all watches share.
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

  /** Returns the heap per key if each key has a separate subscription, bytes. @param {string} clientId */
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
    const disconnected = new Promise(resolve => {
      const subscription = store.status$.subscribe(({ state }) => {
        if (state === 'reconnecting') resolve(queueMicrotask(() => subscription.unsubscribe()))
      })
    })
    await this.server.ask({ cut: clientId })
    await disconnected
    await synced(store, this.names.length)
  }

  /** @param {import('rx-statestore').StateStore} store @param {number} times */
  #readAll(store, times) {
    const { names } = this
    const read = (/** @type {number} */ i) => store.get(names[i % names.length] ?? '', number)
    return lastValueFrom(range(times * names.length).pipe(mergeMap(read, 256)))
  }
}
