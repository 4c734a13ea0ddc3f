import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { fits } from './globs.js'
import { judgeGlobAtEnd } from './judge-glob.js'
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
  const store = connect(`mqtt://127.0.0.1:${world.places[0]?.port}`, { clientId: 'judge' })
  /** @type {Map<string, Entry>} */
  let stored = new Map()
  const watchers = () => participants.flatMap(one => one.watchers.current.map(watcher => ({ one, watcher })))
  const wrong = () => watchers().filter(({ watcher }) => !isCurrent(watcher, stored.get(watcher.key)))
  const globs = () => participants.flatMap(one => one.globs.current.map(watcher => ({ one, watcher })))
  const wrongGlobs = () =>
    globs()
      .map(({ one, watcher }) => ({ one, glob: watcher.glob, wrong: judgeGlobAtEnd(watcher, stored) }))
      .filter(({ wrong }) => wrong.length > 0)
  await until(DEADLINE, async () => {
    stored = await readAll(store, world.keys)
    return wrong().length === 0 && wrongGlobs().length === 0
  })
  const failedGlobs = wrongGlobs()
  for (const { one, glob, wrong } of failedGlobs)
    world.complaints.add('glob not converged', `${one.description} ${glob}: ${wrong.slice(0, 4).join('; ')}`)
  for (const { one, watcher } of wrong()) {
    const { key, last, freshness } = watcher
    const [shown, held] = [last, stored.get(key)].map(entry => JSON.stringify(entry)?.slice(0, 200))
    world.complaints.add('not converged', `${one.description} ${key} (${freshness}) shows ${shown}, stored is ${held}`)
  }
  const watched = new Set(watchers().map(({ watcher }) => watcher.key))
  const failed = new Set(wrong().map(({ watcher }) => watcher.key))
  await store.close()
  return {
    stored,
    watched: watched.size,
    converged: watched.size - failed.size,
    watchers: watchers().length,
    globs: globs().length,
    failedGlobs: failedGlobs.length,
  }
}

/**
 * One registration per key, or glob, and client while somebody watches, none after the last one left. Keys of a watched glob
 * may have one of their own, if they were watched before it or had to be looked for.
 *
 * @param {import('./participant.js').World} world
 * @param {Pick<import('./supervisor.js').Supervisor, 'stats'>} supervisor
 * @param {readonly Participant[]} participants
 */
export async function judgeRegistrations({ complaints }, supervisor, participants) {
  const wanted = participants.map(wantedBy)
  const globs = wanted.reduce((sum, { globs }) => sum + globs.length, 0)
  const keys = await reach(globs, stats => wanted.flatMap(one => faultsOf(one, new Map(stats.watched))))
  for (const { watchers, globs } of participants) {
    watchers.leaveAll()
    globs.leaveAll()
  }
  await reach(0, () => [])
  return { keys, globs }

  /**
   * @param {number} count - of globs
   * @param {(stats: Stats) => string[]} judge
   */
  async function reach(count, judge) {
    let stats = await supervisor.stats()
    const wrong = () => {
      const found = (stats.watches - keysIn(stats)) / GLOB_WEIGHT
      return [...(found === count ? [] : [`${found} globs at the store, ${count} expected`]), ...judge(stats)]
    }
    await until(DEADLINE, async () => {
      stats = await supervisor.stats()
      return wrong().length === 0 && (count > 0 || stats.watches === 0)
    })
    for (const what of wrong()) complaints.add('registrations', what)
    if (count === 0 && stats.watches > 0)
      complaints.add('registrations', `${stats.watches} at the store, none expected`)
    return keysIn(stats)
  }
}

/** @typedef {import('./supervisor.js').Stats} Stats */

/** At the store a watched glob counts for so many keys. */
const GLOB_WEIGHT = 100

/** @param {Stats} stats */
const keysIn = ({ watched }) => watched.reduce((sum, [, keys]) => sum + keys.length, 0)

/** @param {Participant} participant */
function wantedBy({ name, watchers, globs }) {
  const keys = new Set(watchers.current.map(({ key }) => key))
  return { name, keys, globs: Array.from(new Set(globs.current.map(({ glob }) => glob))) }
}

/**
 * @param {ReturnType<typeof wantedBy>} wanted
 * @param {ReadonlyMap<string, readonly string[]>} watched
 * @returns {string[]}
 */
function faultsOf({ name, keys, globs }, watched) {
  const found = new Set(watched.get(name))
  const isCovered = (/** @type {string} */ key) => globs.some(glob => fits(glob, key))
  const missing = Array.from(keys).filter(key => !found.has(key) && !isCovered(key))
  const left = Array.from(found).filter(key => !keys.has(key) && !isCovered(key))
  return [...missing.map(key => `${name} has none for ${key}`), ...left.map(key => `${name} has one for ${key}`)]
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
