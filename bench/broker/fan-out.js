// Measures the time from one change of a key until a thousand watching connections are notified.
import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { startStore } from '../child.js'
import { cpuTime } from '../cpu.js'
import { requestPacket } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'
import { median, ms, progress, spread, times } from '../report.js'

const KEY = 'watched'
/** Number of connections that are opened concurrently. */
const BATCH_SIZE = 50
const WARM_UP_CHANGES = 20
const NOTIFICATIONS = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

/**
 * Opens a connection that watches the key and calls `onChange` at each change. Resolves to a function that closes the
 * connection.
 *
 * @typedef {(url: string, number: number, onChange: () => void) => Promise<() => unknown>} Watch
 */

/** Counts notifications on a socket. QoS 0 requires no acknowledgements. @type {Watch} */
async function watchWithSocket(url, number, onChange) {
  const clientId = `bench-socket-${number}`
  const peer = await RawPeer.connect(Number(new URL(url).port), clientId)
  const clientIdHex = Buffer.from(clientId).toString('hex').toUpperCase()
  await peer.subscribe(`${NOTIFICATIONS}/${clientIdHex}/command/notify/+`, 0)
  await peer.ask(requestPacket(clientId, ['KEYNOTIFY', KEY]).bytes)
  peer.onData = onChange
  return () => peer.close()
}

/** @type {Watch} */
async function watchWithClient(url, number, onChange) {
  const client = connect(url, { clientId: `bench-client-${number}`, sessionExpiry: 0 })
  const { value$ } = client.key(KEY, text)
  value$.subscribe(onChange)
  await firstValueFrom(value$)
  return () => client.close()
}

/** A store with a writer and the watchers of one key. */
class WatchedStore {
  /** Duration and CPU times of each change, ms. @type {{ took: number, store: number, watchers: number }[]} */
  changes = []
  /** @type {(() => unknown)[]} */
  #watchers = []
  #notifiedCount = 0
  #done = () => {}
  #number = 0

  /** @param {string} name @param {import('../child.js').Child & { url: string }} store @param {RawPeer} writer */
  constructor(name, store, writer) {
    this.name = name
    this.store = store
    this.writer = writer
  }

  /** @param {{ name: string, directory?: string }} store */
  static async open({ name, directory }) {
    const store = await startStore(directory)
    return new WatchedStore(name, store, await RawPeer.connect(Number(new URL(store.url).port), 'bench-writer'))
  }

  /** @param {Watch} watch @param {number} size */
  async openWatchers(watch, size) {
    const open = () => watch(this.store.url, this.#number++, () => this.#onChange())
    while (this.#watchers.length < size) {
      const batchSize = Math.min(BATCH_SIZE, size - this.#watchers.length)
      this.#watchers.push(...(await Promise.all(Array.from({ length: batchSize }, open))))
    }
  }

  /** Changes the key once. Resolves when the last watcher has been notified. */
  async change() {
    const request = requestPacket('bench-writer', ['SET', KEY, String(++this.#number).padStart(16, '0')])
    this.#notifiedCount = 0
    /** @type {Promise<void>} */
    const notified = new Promise(resolve => {
      this.#done = resolve
    })
    const storeBefore = cpuTime(this.store.pid)
    const watchersBefore = cpuTime(process.pid)
    const started = performance.now()
    const written = this.writer.ask(request.bytes)
    await notified
    const took = performance.now() - started
    await written
    this.changes.push({
      took,
      store: cpuTime(this.store.pid) - storeBefore,
      watchers: cpuTime(process.pid) - watchersBefore,
    })
  }

  #onChange() {
    if (++this.#notifiedCount === this.#watchers.length) this.#done()
  }

  async close() {
    this.writer.close()
    for (const close of this.#watchers) await close()
    await this.store.close()
  }
}

/**
 * @param {readonly { name: string, directory?: string }[]} stores - the first one is this store
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureFanOut(stores, effort) {
  const size = effort.quick ? 100 : 1_000
  /** @type {import('../report.js').Table} */
  const table = { title: `Broker, one change to ${size} watchers`, rows: [] }
  for (const [watchers, watch] of /** @type {const} */ ([
    ['counting sockets', watchWithSocket],
    ['clients', watchWithClient],
  ])) {
    const watchedStores = []
    for (const store of stores) {
      progress(`${size} ${watchers} of ${store.name}`)
      const watchedStore = await WatchedStore.open(store)
      await watchedStore.openWatchers(watch, size)
      watchedStores.push(watchedStore)
    }
    const rounds = await changeInTurns(watchedStores, effort)
    for (const [i, { name }] of watchedStores.entries())
      table.rows.push({ watchers, broker: name, ...rowOf(rounds, i) })
    for (const watchedStore of watchedStores) await watchedStore.close()
  }
  return table
}

/**
 * Returns the median duration and CPU times of a change, by round and store.
 *
 * @param {readonly WatchedStore[]} stores
 * @param {import('../rounds.js').Effort} effort
 */
async function changeInTurns(stores, effort) {
  for (const store of stores) for (let i = 0; i < WARM_UP_CHANGES; i++) await store.change()
  const rounds = []
  for (let round = 0; round < effort.rounds; round++) {
    for (const store of stores) store.changes = []
    for (let turn = 0; turn < stores.length; turn++) {
      const store = stores[(round + turn) % stores.length]
      const end = performance.now() + effort.ms
      do await store?.change()
      while (performance.now() < end)
    }
    rounds.push(
      stores.map(({ changes }) => ({
        took: medianOf(changes, 'took'),
        store: medianOf(changes, 'store'),
        watchers: medianOf(changes, 'watchers'),
      })),
    )
  }
  return rounds
}

/** @typedef {{ took: number, store: number, watchers: number }} Change */

/** @param {readonly Change[]} changes @param {keyof Change} part */
const medianOf = (changes, part) => median(changes.map(change => change[part]))

/** @param {Change[][]} rounds @param {number} i */
function rowOf(rounds, i) {
  const theirs = rounds.map(round => round[i] ?? { took: Number.NaN, store: Number.NaN, watchers: Number.NaN })
  const ours = rounds.map(round => round[0] ?? { took: Number.NaN, store: Number.NaN, watchers: Number.NaN })
  /** @param {keyof Change} part */
  const ratios = part => theirs.map((change, round) => change[part] / (ours[round]?.[part] ?? Number.NaN))
  const cells = {
    median: ms(medianOf(theirs, 'took')),
    'CPU of the store': ms(medianOf(theirs, 'store')),
    'of the watchers': ms(medianOf(theirs, 'watchers')),
  }
  if (i === 0) return { ...cells, 'theirs / ours': '', spread: '', 'CPU, theirs / ours': '' }
  const took = ratios('took')
  return {
    ...cells,
    'theirs / ours': times(median(took)),
    spread: times(spread(took)),
    'CPU, theirs / ours': times(median(ratios('store'))),
  }
}
