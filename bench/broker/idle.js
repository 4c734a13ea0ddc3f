// Measures idle connections: the memory of each, their maximum number, and the memory that remains after they close.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { heapOf, start, startStore } from '../support/child.js'
import { bytes, ms, progress } from '../support/report.js'

/** @typedef {import('../support/child.js').Child & { url: string }} Store */

const KINDS = [
  { connection: 'plain', subscribed: false },
  { connection: 'with two subscriptions', subscribed: true },
]
/** Maximum number of connections of one client process. */
const MAX_PER_PROCESS = 5_000
/** Number of file descriptors for other purposes than connections. */
const RESERVED_FILES = 100

/**
 * @param {readonly { name: string, directory?: string }[]} stores
 * @param {import('../support/rounds.js').Effort} effort
 * @returns {Promise<import('../support/report.js').Table[]>}
 */
export async function measureIdle(stores, effort) {
  /** @type {import('../support/report.js').Table} */
  const each = { title: 'Broker, memory of an idle connection', rows: [] }
  const count = effort.quick ? 500 : 5_000
  for (const { connection, subscribed } of KINDS) {
    for (const { name, directory } of stores) {
      progress(`${count} idle connections, ${connection}: ${name}`)
      const cells = await withStore(directory, store => measureEach(store, count, subscribed))
      each.rows.push({ connection, broker: name, count, ...cells })
    }
  }
  const maxCount = Math.min(effort.quick ? 1_000 : 20_000, maxOpenFiles() - RESERVED_FILES)
  /** @type {import('../support/report.js').Table} */
  const many = { title: 'Broker, many idle connections with two subscriptions', rows: [] }
  for (const { name, directory } of stores) {
    progress(`${maxCount} idle connections: ${name}`)
    many.rows.push({
      broker: name,
      connections: maxCount,
      ...(await withStore(directory, store => measureMany(store, maxCount))),
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
  // The first connections allocate memory that all connections share.
  const first = await connectMany(store, 100, subscribed, 'first')
  const before = await heapOf(store)
  const residentBefore = residentOf(store.pid)
  const clients = await connectMany(store, count, subscribed, 'idle')
  const heap = (await heapOf(store)) - before
  const resident = residentOf(store.pid) - residentBefore
  await Promise.all([...first, ...clients].map(({ close }) => close()))
  return { 'heap and buffers': bytes(heap / count), resident: bytes(resident / count) }
}

/** @param {Store} store @param {number} count */
async function measureMany(store, count) {
  await Promise.all((await connectMany(store, 100, true, 'first')).map(({ close }) => close()))
  await allDisconnected(store)
  const before = await heapOf(store)
  const started = performance.now()
  const clients = await connectMany(store, count, true, 'idle')
  const connecting = performance.now() - started
  const held = (await heapOf(store)) - before
  const resident = residentOf(store.pid)
  const closingAt = performance.now()
  await Promise.all(clients.map(({ close }) => close()))
  await allDisconnected(store)
  const closing = performance.now() - closingAt
  const rest = (await heapOf(store)) - before
  return {
    connecting: ms(connecting),
    'heap and buffers': bytes(held),
    'resident in total': bytes(resident),
    closing: ms(closing),
    'left afterwards': bytes(rest),
  }
}

/**
 * Connects from several local addresses, because one address has too few ports.
 *
 * @param {Store} store @param {number} count @param {boolean} subscribed @param {string} prefix
 */
async function connectMany(store, count, subscribed, prefix) {
  const clients = []
  for (let left = count; left > 0; left -= MAX_PER_PROCESS) {
    const child = await start('./broker/idle-process.js')
    const address = process.platform === 'linux' ? `127.0.0.${2 + clients.length}` : '127.0.0.1'
    clients.push(child)
    const ids = { prefix: `${prefix}-${clients.length}`, count: Math.min(left, MAX_PER_PROCESS) }
    await child.ask({ url: store.url, address, ...ids, subscribed })
  }
  return clients
}

/** Resolves when the store has no connections. @param {Store} store */
async function allDisconnected(store) {
  while (Object(await store.ask({ type: 'stats' })).connections > 0) await sleep(20)
}

/** Returns the maximum number of open files of a process, including sockets. */
function maxOpenFiles() {
  try {
    const [, , , , hard] =
      /^Max open files.*$/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[0].split(/\s+/) ?? []
    return Number(hard)
  } catch {
    return 4_096
  }
}

/** Returns the resident memory of a process, bytes; `NaN` on systems other than Linux. @param {number} pid */
function residentOf(pid) {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
  } catch {
    return Number.NaN
  }
}
