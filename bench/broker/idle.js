// Connections that do nothing: what each of them holds, how many there may be, and what is left when they are gone.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { heapOf, start, startStore } from '../child.js'
import { bytes, ms, progress } from '../report.js'

/** @typedef {import('../child.js').Child & { url: string }} Store */

const KINDS = [
  { connection: 'plain', subscribed: false },
  { connection: 'with two subscriptions', subscribed: true },
]
/** Of one process that connects. */
const MOST_EACH = 5_000
/** What a process needs files for besides connections. */
const SPARE = 100

/**
 * @param {readonly { name: string, directory?: string }[]} stores
 * @param {import('../rounds.js').Effort} effort
 * @returns {Promise<import('../report.js').Table[]>}
 */
export async function measureIdle(stores, effort) {
  /** @type {import('../report.js').Table} */
  const each = { title: 'Broker, memory of an idle connection', rows: [] }
  const count = effort.quick ? 500 : 5_000
  for (const { connection, subscribed } of KINDS) {
    for (const { name, directory } of stores) {
      progress(`${count} idle connections, ${connection}: ${name}`)
      const cells = await withStore(directory, store => measureEach(store, count, subscribed))
      each.rows.push({ connection, broker: name, count, ...cells })
    }
  }
  const most = Math.min(effort.quick ? 1_000 : 20_000, mostFiles() - SPARE)
  /** @type {import('../report.js').Table} */
  const many = { title: 'Broker, many idle connections with two subscriptions', rows: [] }
  for (const { name, directory } of stores) {
    progress(`${most} idle connections: ${name}`)
    many.rows.push({
      broker: name,
      connections: most,
      ...(await withStore(directory, store => measureMany(store, most))),
    })
  }
  return [each, many]
}

/**
 * @template T
 * @param {string | undefined} directory
 * @param {(store: Store) => Promise<T>} task
 */
async function withStore(directory, task) {
  const store = await startStore(directory)
  const result = await task(store)
  await store.close()
  return result
}

/** @param {Store} store @param {number} count @param {boolean} subscribed */
async function measureEach(store, count, subscribed) {
  // The first ones pay for what all later ones share.
  const first = await connectMany(store, 100, subscribed, 'first')
  const before = await heapOf(store)
  const residentBefore = residentOf(store.pid)
  const crowd = await connectMany(store, count, subscribed, 'idle')
  const heap = (await heapOf(store)) - before
  const resident = residentOf(store.pid) - residentBefore
  await Promise.all([...first, ...crowd].map(({ close }) => close()))
  return { 'heap and buffers': bytes(heap / count), resident: bytes(resident / count) }
}

/** @param {Store} store @param {number} count */
async function measureMany(store, count) {
  await Promise.all((await connectMany(store, 100, true, 'first')).map(({ close }) => close()))
  await left(store)
  const before = await heapOf(store)
  const started = performance.now()
  const crowd = await connectMany(store, count, true, 'idle')
  const connecting = performance.now() - started
  const held = (await heapOf(store)) - before
  const resident = residentOf(store.pid)
  const gone = performance.now()
  await Promise.all(crowd.map(({ close }) => close()))
  await left(store)
  const leaving = performance.now() - gone
  const rest = (await heapOf(store)) - before
  return {
    connecting: ms(connecting),
    'heap and buffers': bytes(held),
    'resident, in all': bytes(resident),
    'until all are gone': ms(leaving),
    'left then': bytes(rest),
  }
}

/** From several addresses of ours: one has too few ports. @param {Store} store @param {number} count @param {boolean} subscribed @param {string} prefix */
async function connectMany(store, count, subscribed, prefix) {
  const port = Number(new URL(store.url).port)
  const crowd = []
  for (let left = count; left > 0; left -= MOST_EACH) {
    const child = await start('./broker/idle-process.js')
    const address = process.platform === 'linux' ? `127.0.0.${2 + crowd.length}` : '127.0.0.1'
    crowd.push(child)
    await child.ask({
      port,
      address,
      prefix: `${prefix}-${crowd.length}`,
      count: Math.min(left, MOST_EACH),
      subscribed,
    })
  }
  return crowd
}

/** Resolves when no connection is left. @param {Store} store */
async function left(store) {
  while (Object(await store.ask({ type: 'stats' })).connections > 0) await sleep(20)
}

/** How many files a process may have open, sockets included. */
function mostFiles() {
  try {
    const [, , , , hard] =
      /^Max open files.*$/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[0].split(/\s+/) ?? []
    return Number(hard)
  } catch {
    return 4_096
  }
}

/** What of a process is in memory, bytes; `NaN` where the system (none but Linux) does not tell. @param {number} pid */
function residentOf(pid) {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
  } catch {
    return Number.NaN
  }
}
