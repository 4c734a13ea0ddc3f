// The store by itself: a load generator that costs next to nothing against stores of different sizes.
import { heapOf, startStore } from './child.js'
import { numbered, RawClient } from './raw/client.js'
import { bytes, progress } from './report.js'
import { compare, medianRate, takeTurns } from './rounds.js'

const VALUE = 'sixteen bytes...'
const LEAST = 1024
const WARM = 10_000
const FAR = '3600000'
const SOON = '100'

/**
 * @typedef {object} Subject - a store and a connection to it
 * @property {import('./child.js').Child} child
 * @property {string} url
 * @property {RawClient} client
 * @property {number} keys
 */

/** @returns {() => number} 0, 1, 2, ... */
function counting() {
  let last = 0
  return () => last++
}

/** The same numbers below a limit every time, all over it. @param {number} limit */
function scattered(limit) {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % limit
  }
}

/**
 * A store with so many keys. Small ones are written again and again: all processes are to be equally warm.
 *
 * @param {number} keys
 * @param {readonly string[]} options - of every SET
 * @returns {Promise<Subject>}
 */
async function filled(keys, options = []) {
  progress(`a store with ${keys} keys`)
  const child = await startStore()
  const client = await RawClient.connect(child.url, 'bench-load')
  const next = counting()
  await client.run(['SET', numbered('k'), VALUE, ...options], Math.max(keys, WARM), () => next() % keys)
  return { child, url: child.url, client, keys }
}

/** @param {Subject} subject */
async function close({ child, client }) {
  const { errors } = Object(await child.ask({ type: 'stats' }))
  if (errors > 0) throw new Error(`the store refused ${errors} requests`)
  client.close()
  await child.close()
}

/** @param {Subject} subject @param {string} name @param {readonly string[]} command @returns {import('./rounds.js').Runner} */
function runner({ client, keys }, name, command) {
  const next = scattered(keys)
  return { name, run: count => client.run(command, count, next) }
}

/**
 * @param {import('./rounds.js').Effort} effort
 * @returns {Promise<import('./report.js').Table[]>}
 */
export async function measureStore(effort) {
  const bySize = await measureSizes(effort)
  return [bySize, await measureExpiry(effort), await measureWatchers(effort), await measureHeap(effort)]
}

/** @param {import('./rounds.js').Effort} effort */
async function measureSizes(effort) {
  /** @type {Subject[]} */
  const subjects = []
  for (const keys of effort.quick ? [1e3, 1e4, 1e5] : [1e3, 1e5, 1e6]) subjects.push(await filled(keys))
  /** @type {import('./report.js').Table} */
  const table = { title: 'Store, requests to any of its keys, 256 in flight', rows: [] }
  for (const command of [
    ['SET', numbered('k'), VALUE],
    ['GET', numbered('k')],
  ]) {
    const runners = subjects.map(subject => runner(subject, `${subject.keys} keys`, command))
    const rates = await takeTurns(`${command[0]} by number of keys`, runners, effort, LEAST)
    for (const [i, { keys }] of subjects.entries()) {
      const cells = { request: command[0] ?? '', keys, rate: medianRate(rates[i] ?? []) }
      const { ratio, spread } = compare(rates[i] ?? [], rates[0] ?? [])
      table.rows.push({ ...cells, 'of that at 1,000': i === 0 ? '' : ratio, spread: i === 0 ? '' : spread })
    }
  }
  for (const subject of subjects) await close(subject)
  return table
}

/** @param {import('./rounds.js').Effort} effort */
async function measureExpiry(effort) {
  const keys = effort.quick ? 1e4 : 1e5
  const lasting = await filled(keys)
  const expiring = await filled(keys, ['PX', FAR])
  const set = ['SET', numbered('k'), VALUE]
  const runs = [
    { request: 'GET', of: 'lasting keys', subject: lasting, command: ['GET', numbered('k')] },
    { request: 'GET', of: 'keys with an expiry', subject: expiring, command: ['GET', numbered('k')] },
    { request: 'SET', of: 'lasting keys', subject: lasting, command: set },
    { request: 'SET', of: 'expiry in an hour', subject: expiring, command: [...set, 'PX', FAR] },
    // Other keys, so that the hundred thousand stay.
    { request: 'SET', of: 'expiry in 0.1 s', subject: expiring, command: ['SET', numbered('x'), VALUE, 'PX', SOON] },
  ]
  const runners = runs.map(({ subject, of, command }) => runner(subject, of, command))
  const rates = await takeTurns('expiring keys', runners, effort, LEAST)
  const rows = runs.map(({ request, of }, i) => {
    const base = request === 'GET' ? 0 : 2
    const { ratio, spread } = compare(rates[i] ?? [], rates[base] ?? [])
    const compared = i === base ? { 'of lasting': '', spread: '' } : { 'of lasting': ratio, spread }
    return { request, to: of, rate: medianRate(rates[i] ?? []), ...compared }
  })
  await close(lasting)
  await close(expiring)
  return { title: `Store, expiry among ${keys.toLocaleString('en')} keys`, rows }
}

/** @param {import('./rounds.js').Effort} effort */
async function measureWatchers(effort) {
  const sizes = [0, 1, 10, 100]
  const subject = await filled(1e3)
  /** @type {RawClient[]} */
  const clients = []
  for (let i = 0; i < Math.max(...sizes); i++) {
    const client = await RawClient.connect(subject.url, `bench-watcher-${i}`)
    for (const size of sizes) if (i < size) await client.run(['KEYNOTIFY', `watched by ${size}`], 1)
    clients.push(client)
  }
  const runners = sizes.map(size => runner(subject, `${size} watchers`, ['SET', `watched by ${size}`, VALUE]))
  const rates = await takeTurns('watchers per key', runners, effort, LEAST / 4)
  const rows = sizes.map((size, i) => {
    const rate = medianRate(rates[i] ?? [])
    const { ratio, spread } = compare(rates[i] ?? [], rates[0] ?? [])
    const compared = i === 0 ? { 'of unwatched': '', spread: '' } : { 'of unwatched': ratio, spread }
    return { watchers: size, SET: rate, notifications: { ...rate, value: rate.value * size }, ...compared }
  })
  for (const client of clients) client.close()
  await close(subject)
  return { title: 'Store, SET of a watched key', rows }
}

/**
 * Each number alone in a store of its own: what it holds with all of them less what it held without.
 *
 * @param {import('./rounds.js').Effort} effort
 */
async function measureHeap(effort) {
  const many = effort.quick ? 1e4 : 1e5
  const subject = await filled(1)
  const { child, url, client } = subject
  /** @type {import('./report.js').Table} */
  const table = { title: 'Store, memory held, heap and buffers', rows: [] }
  /** @param {string} what @param {number} count @param {() => Promise<unknown>} grow */
  const row = async (what, count, grow) => {
    progress(`memory: ${count} times a ${what}`)
    const before = await heapOf(child)
    await grow()
    table.rows.push({ what, count, each: bytes(((await heapOf(child)) - before) / count) })
  }
  // The first of each kind pays for what all later ones share.
  await client.run(['KEYNOTIFY', numbered('k')], 100, counting())
  await row('key of 8 B with 16 B', many, () => client.run(['SET', numbered('k'), VALUE], many, counting()))
  await row('key that expires', many, () => client.run(['SET', numbered('x'), VALUE, 'PX', FAR], many, counting()))
  await row('watch of a key', 1e4, () => client.run(['KEYNOTIFY', numbered('k')], 1e4, counting()))
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
