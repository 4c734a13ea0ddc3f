// One change of a key, and a thousand connections that watch it.
import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { startStore } from '../child.js'
import { cpuTime } from '../cpu.js'
import { requestPacket } from '../raw/packets.js'
import { RawPeer } from '../raw/peer.js'
import { median, ms, progress, spread, times } from '../report.js'

const KEY = 'watched'
/** Connections that are opened at a time. */
const BATCH = 50
/** Changes before it counts. */
const WARM = 20
const NOTIFICATIONS = 'clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8'

/**
 * A connection of its own that watches the key and calls at each change; resolves to what closes it.
 *
 * @typedef {(url: string, number: number, seen: () => void) => Promise<() => unknown>} Watch
 */

/** A socket that only counts. With QoS 0, so that nothing has to be acknowledged. @type {Watch} */
async function watchWithSocket(url, number, seen) {
  const clientId = `bench-socket-${number}`
  const peer = await RawPeer.connect(Number(new URL(url).port), clientId)
  const own = Buffer.from(clientId).toString('hex').toUpperCase()
  await peer.subscribe(`${NOTIFICATIONS}/${own}/command/notify/+`, 0)
  await peer.ask(requestPacket(clientId, ['KEYNOTIFY', KEY]).bytes)
  peer.came = seen
  return () => peer.close()
}

/** @type {Watch} */
async function watchWithClient(url, number, seen) {
  const client = connect(url, { clientId: `bench-client-${number}`, sessionExpiry: 0 })
  const { value$ } = client.key(KEY, text)
  value$.subscribe(seen)
  await firstValueFrom(value$)
  return () => client.close()
}

/** A store, who watches a key of it, and who writes that key. */
class Audience {
  /** ms of each change, and of that on processors. @type {{ took: number, store: number, watchers: number }[]} */
  changes = []
  /** @type {(() => unknown)[]} */
  #watchers = []
  #seen = 0
  #done = () => {}
  #number = 0

  /** @param {string} name @param {import('../child.js').Child & { url: string }} store @param {RawPeer} writer */
  constructor(name, store, writer) {
    this.name = name
    this.store = store
    this.writer = writer
  }

  /** @param {{ name: string, directory?: string }} store */
  static async of({ name, directory }) {
    const store = await startStore(directory)
    return new Audience(name, store, await RawPeer.connect(Number(new URL(store.url).port), 'bench-writer'))
  }

  /** @param {Watch} watch @param {number} size */
  async grow(watch, size) {
    const open = () => watch(this.store.url, this.#number++, () => this.#saw())
    while (this.#watchers.length < size) {
      const few = Math.min(BATCH, size - this.#watchers.length)
      this.#watchers.push(...(await Promise.all(Array.from({ length: few }, open))))
    }
  }

  /** Changes the key once; resolves when the last watcher knows. */
  async change() {
    const request = requestPacket('bench-writer', ['SET', KEY, String(++this.#number).padStart(16, '0')])
    this.#seen = 0
    /** @type {Promise<void>} */
    const known = new Promise(resolve => {
      this.#done = resolve
    })
    const store = cpuTime(this.store.pid)
    const own = cpuTime(process.pid)
    const started = performance.now()
    const written = this.writer.ask(request.bytes)
    await known
    const took = performance.now() - started
    await written
    this.changes.push({ took, store: cpuTime(this.store.pid) - store, watchers: cpuTime(process.pid) - own })
  }

  #saw() {
    if (++this.#seen === this.#watchers.length) this.#done()
  }

  async close() {
    this.writer.close()
    for (const close of this.#watchers) await close()
    await this.store.close()
  }
}

/**
 * @param {readonly { name: string, directory?: string }[]} stores - the first one is ours
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table>}
 */
export async function measureFanOut(stores, effort) {
  const size = effort.quick ? 100 : 1_000
  /** @type {import('../report.js').Table} */
  const table = { title: `Broker, one change to ${size} watchers`, rows: [] }
  for (const [watchers, watch] of /** @type {const} */ ([
    ['sockets that count', watchWithSocket],
    ['our clients', watchWithClient],
  ])) {
    const audiences = []
    for (const store of stores) {
      progress(`${size} ${watchers} of ${store.name}`)
      const audience = await Audience.of(store)
      await audience.grow(watch, size)
      audiences.push(audience)
    }
    const rounds = await changeInTurns(audiences, effort)
    for (const [i, { name }] of audiences.entries()) table.rows.push({ watchers, broker: name, ...rowOf(rounds, i) })
    for (const audience of audiences) await audience.close()
  }
  return table
}

/**
 * What each audience's changes took, round by round.
 *
 * @param {readonly Audience[]} audiences
 * @param {import('../rounds.js').Effort} effort
 */
async function changeInTurns(audiences, effort) {
  for (const audience of audiences) for (let i = 0; i < WARM; i++) await audience.change()
  const rounds = []
  for (let round = 0; round < effort.rounds; round++) {
    for (const audience of audiences) audience.changes = []
    for (let turn = 0; turn < audiences.length; turn++) {
      const audience = audiences[(round + turn) % audiences.length]
      const end = performance.now() + effort.ms
      do await audience?.change()
      while (performance.now() < end)
    }
    rounds.push(
      audiences.map(({ changes }) => ({
        took: of(changes, 'took'),
        store: of(changes, 'store'),
        watchers: of(changes, 'watchers'),
      })),
    )
  }
  return rounds
}

/** @typedef {{ took: number, store: number, watchers: number }} Change */

/** @param {readonly Change[]} changes @param {keyof Change} part */
const of = (changes, part) => median(changes.map(change => change[part]))

/** @param {Change[][]} rounds @param {number} i */
function rowOf(rounds, i) {
  const own = rounds.map(round => round[i] ?? { took: Number.NaN, store: Number.NaN, watchers: Number.NaN })
  const ours = rounds.map(round => round[0] ?? { took: Number.NaN, store: Number.NaN, watchers: Number.NaN })
  /** @param {keyof Change} part */
  const ratios = part => own.map((change, round) => change[part] / (ours[round]?.[part] ?? Number.NaN))
  const cells = {
    median: ms(of(own, 'took')),
    'CPU of the store': ms(of(own, 'store')),
    'of the watchers': ms(of(own, 'watchers')),
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
