import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { until } from './pace.js'
import { LONGEST_LIFE } from './writers.js'

/** @typedef {import('./participant.js').Participant} Participant */
/** @typedef {import('rx-statestore').Entry<string>} Entry */

/** How long each step may take once nothing goes wrong any more, ms. */
const DEADLINE = 20_000

/**
 * Waits until every write has its outcome, every client has read all its keys, and nothing is left to expire.
 *
 * @param {readonly Participant[]} participants
 * @param {import('./complaints.js').Complaints} complaints
 */
export async function settle(participants, complaints) {
  const isQuiet = (/** @type {Participant} */ { writers, isSynced }) => writers.pending === 0 && isSynced
  if (!(await until(DEADLINE, () => participants.every(isQuiet)))) {
    for (const participant of participants.filter(one => !isQuiet(one)))
      complaints.add(
        'does not settle',
        `${participant.description}, ${participant.writers.pending} writes without outcome`,
      )
  }
  await new Promise(resolve => setTimeout(resolve, LONGEST_LIFE))
}

/**
 * Compares what every watcher saw last with what the store holds, until they agree.
 *
 * @param {import('./participant.js').World} world
 * @param {readonly Participant[]} participants
 */
export async function converge(world, participants) {
  const store = connect(`mqtt://127.0.0.1:${world.ports.port}`, { clientId: 'judge' })
  /** @type {Map<string, Entry>} */
  let stored = new Map()
  const watchers = () => participants.flatMap(one => one.watchers.current.map(watcher => ({ one, watcher })))
  const wrong = () => watchers().filter(({ watcher }) => !isCurrent(watcher, stored.get(watcher.key)))
  await until(DEADLINE, async () => {
    stored = await readAll(store, world.keys)
    return wrong().length === 0
  })
  for (const { one, watcher } of wrong()) {
    const { key, last, freshness } = watcher
    const [shown, held] = [last, stored.get(key)].map(entry => JSON.stringify(entry)?.slice(0, 200))
    world.complaints.add('not converged', `${one.description} ${key} (${freshness}) shows ${shown}, stored is ${held}`)
  }
  const watched = new Set(watchers().map(({ watcher }) => watcher.key))
  const failed = new Set(wrong().map(({ watcher }) => watcher.key))
  await store.close()
  return { stored, watched: watched.size, converged: watched.size - failed.size, watchers: watchers().length }
}

/**
 * One registration per key and client while somebody watches, none after the last one left.
 *
 * @param {import('./participant.js').World} world
 * @param {import('./supervisor.js').Supervisor} supervisor
 * @param {readonly Participant[]} participants
 */
export async function judgeRegistrations({ complaints }, supervisor, participants) {
  const wanted = participants
    .map(({ watchers }) => new Set(watchers.current.map(({ key }) => key)).size)
    .reduce((sum, size) => sum + size, 0)
  await reach(wanted)
  for (const { watchers } of participants) watchers.leaveAll()
  await reach(0)

  /** @param {number} count */
  async function reach(count) {
    let stats = await supervisor.stats()
    const reached = await until(DEADLINE, async () => {
      stats = await supervisor.stats()
      return stats.watches === count
    })
    if (!reached) complaints.add('registrations', `${stats.watches} at the store, ${count} expected`)
  }
  return wanted
}

/**
 * @param {import('./watchers.js').Watcher} watcher
 * @param {Entry | undefined} stored
 */
function isCurrent({ last, freshness }, stored) {
  if (last === undefined || stored === undefined || (freshness ?? 'live') !== 'live') return false
  if (stored.op !== 'set') return last.op === 'delete' || last.op === 'absent'
  return last.op === 'set' && last.value === stored.value && String(last.version) === String(stored.version)
}

/**
 * @param {import('rx-statestore').StateStore} store
 * @param {readonly string[]} keys
 */
async function readAll(store, keys) {
  const entries = await Promise.all(keys.map(key => firstValueFrom(store.get(key, text))))
  return new Map(entries.map(entry => [entry.key, entry]))
}
