// Measures stores of different sizes with a load generator of minimal overhead.

import { RawClient } from './raw/client.js'
import { numbered } from './raw/packets.js'
import { heapOf, startStore } from './support/child.js'
import { bytes, progress } from './support/report.js'
import { compare, medianRate, takeTurns } from './support/rounds.js'

const VALUE = 'sixteen bytes...'
const MIN_COUNT = 1024
const WARM_UP_WRITES = 10_000
const HOUR_MS = '3600000'
const SHORT_MS = '100'

/**
 * @typedef {object} Subject - a store and a connection to it
 * @property {import('./support/child.js').Child} child
 * @property {string} url
 * @property {RawClient} client
 * @property {number} keys
 */

/** @returns {() => number} 0, 1, 2, ... */
function counter() {
  let next = 0
  return () => next++
}

/** Returns a generator of pseudorandom numbers below `limit`, in the same sequence every time. @param {number} limit */
function pseudorandom(limit) {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % limit
  }
}

/**
 * Starts a store with `keys` keys. The keys of small stores are written repeatedly, so that all processes are equally
 * warm.
 *
 * @param {number} keys
 * @param {readonly string[]} options - options of every SET
 * @returns {Promise<Subject>}
 */
async function storeWithKeys(keys, options = []) {
  progress(`a store with ${keys} keys`)
  const child = await startStore()
  const client = await RawClient.connect(child.url, 'bench-load')
  const next = counter()
  await client.run(['SET', numbered('k'), VALUE, ...options], Math.max(keys, WARM_UP_WRITES), () => next() % keys)
  return { child, url: child.url, client, keys }
}

/** @param {Subject} subject */
async function close({ child, client }) {
  const { errors } = Object(await child.ask({ type: 'stats' }))
  if (errors > 0) throw new Error(`The store rejected ${errors} requests`)
  client.close()
  await child.close()
}

/** @param {Subject} subject @param {string} name @param {readonly string[]} command @returns {import('./support/rounds.js').Runner} */
function runner({ client, keys }, name, command) {
  const next = pseudorandom(keys)
  return { name, run: count => client.run(command, count, next) }
}

/**
 * Returns the name and the rate of each contestant, and the ratio of the rate to that of the first one.
 *
 * @param {readonly import('./support/rounds.js').Measured[]} measured
 * @param {string} header - of the ratio
 */
function relativeToFirst(measured, header) {
  return measured.map(({ name, rates }, i) => {
    const { ratio, spread } = compare(rates, measured[0]?.rates ?? [])
    return { name, rate: medianRate(rates), compared: i === 0 ? {} : { [header]: ratio, spread } }
  })
}

/**
 * @param {import('./support/rounds.js').Effort} effort
 * @returns {Promise<import('./support/report.js').Table[]>}
 */
export async function measureStore(effort) {
  const bySize = await measureSizes(effort)
  return [bySize, await measureExpiry(effort), await measureWatchers(effort), await measureHeap(effort)]
}

/** @param {import('./support/rounds.js').Effort} effort */
async function measureSizes(effort) {
  /** @type {Subject[]} */
  const subjects = []
  for (const keys of effort.quick ? [1e3, 1e4, 1e5] : [1e3, 1e5, 1e6]) subjects.push(await storeWithKeys(keys))
  /** @type {import('./support/report.js').Table} */
  const table = { title: 'Store, requests to random keys, 256 in flight', rows: [] }
  for (const command of [
    ['SET', numbered('k'), VALUE],
    ['GET', numbered('k')],
  ]) {
    const runners = subjects.map(subject => runner(subject, subject.keys.toLocaleString('en'), command))
    const measured = await takeTurns(`${command[0]} by number of keys`, runners, effort, MIN_COUNT)
    for (const { name, rate, compared } of relativeToFirst(measured, 'relative to 1,000'))
      table.rows.push({ request: command[0] ?? '', keys: name, rate, ...compared })
  }
  for (const subject of subjects) await close(subject)
  return table
}

/** @param {import('./support/rounds.js').Effort} effort */
async function measureExpiry(effort) {
  const keys = effort.quick ? 1e4 : 1e5
  const permanent = await storeWithKeys(keys)
  const expiring = await storeWithKeys(keys, ['PX', HOUR_MS])
  const get = ['GET', numbered('k')]
  const set = ['SET', numbered('k'), VALUE]
  const requests = {
    GET: [runner(permanent, 'keys without expiry', get), runner(expiring, 'keys with an expiry', get)],
    SET: [
      runner(permanent, 'keys without expiry', set),
      runner(expiring, 'expiry in an hour', [...set, 'PX', HOUR_MS]),
      // These SETs write other keys, so that the number of the initial keys stays the same.
      runner(expiring, 'expiry in 0.1 s', ['SET', numbered('x'), VALUE, 'PX', SHORT_MS]),
    ],
  }
  const rows = []
  for (const [request, runners] of Object.entries(requests)) {
    const measured = await takeTurns(`expiring keys, ${request}`, runners, effort, MIN_COUNT)
    for (const { name, rate, compared } of relativeToFirst(measured, 'relative to no expiry'))
      rows.push({ request, to: name, rate, ...compared })
  }
  await close(permanent)
  await close(expiring)
  return { title: `Store, expiry among ${keys.toLocaleString('en')} keys`, rows }
}

/** @param {import('./support/rounds.js').Effort} effort */
async function measureWatchers(effort) {
  const sizes = [0, 1, 10, 100]
  const subject = await storeWithKeys(1e3)
  /** @type {RawClient[]} */
  const clients = []
  for (let i = 0; i < Math.max(...sizes); i++) {
    const client = await RawClient.connect(subject.url, `bench-watcher-${i}`)
    for (const size of sizes) if (i < size) await client.run(['KEYNOTIFY', `watched by ${size}`], 1)
    clients.push(client)
  }
  const runners = sizes.map(size => runner(subject, String(size), ['SET', `watched by ${size}`, VALUE]))
  const measured = await takeTurns('watchers per key', runners, effort, MIN_COUNT / 4)
  const rows = relativeToFirst(measured, 'relative to unwatched').map(({ name, rate, compared }) => ({
    watchers: name,
    SET: rate,
    notifications: { ...rate, value: rate.value * Number(name) },
    ...compared,
  }))
  for (const client of clients) client.close()
  await close(subject)
  return { title: 'Store, SET of a watched key', rows }
}

/**
 * Measures the memory per key, watch and connection: the growth of the store divided by their number.
 *
 * @param {import('./support/rounds.js').Effort} effort
 */
async function measureHeap(effort) {
  const keys = effort.quick ? 1e4 : 1e5
  const subject = await storeWithKeys(1)
  const { child, url, client } = subject
  /** @type {import('./support/report.js').Table} */
  const table = { title: 'Store, memory in heap and buffers', rows: [] }
  /** @param {string} what @param {number} count @param {() => Promise<unknown>} grow */
  const row = async (what, count, grow) => {
    progress(`memory: ${count} times ${what}`)
    const before = await heapOf(child)
    await grow()
    table.rows.push({ what, count, each: bytes(((await heapOf(child)) - before) / count) })
  }
  // The first item of each kind allocates memory that all items share.
  await client.run(['KEYNOTIFY', numbered('k')], 100, counter())
  await row('key of 8 B with 16 B', keys, () => client.run(['SET', numbered('k'), VALUE], keys, counter()))
  await row('key that expires', keys, () => client.run(['SET', numbered('x'), VALUE, 'PX', HOUR_MS], keys, counter()))
  await row('watch of a key', 1e4, () => client.run(['KEYNOTIFY', numbered('k')], 1e4, counter()))
  /** @type {RawClient[]} */
  const clients = []
  await row('connection', 500, async () => {
    for (let i = 0; i < 500; i++) {
      const connection = await RawClient.connect(url, `bench-idle-${i}`)
      await connection.run(['GET', 'k'], 1)
      clients.push(connection)
    }
  })
  for (const connection of clients) connection.close()
  await close(subject)
  return table
}
