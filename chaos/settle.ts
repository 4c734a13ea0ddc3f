import type { Entry, StateStore } from 'rx-statestore'
import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { matchesGlob } from '../spec/judges/chaos-globs.js'
import { compareGlobView, compareState } from '../spec/judges/convergence.js'
import type { GlobWatcher } from './glob-watchers.js'
import type { ChaosContext, Participant } from './participant.js'
import { until } from './random-interval.js'
import type { Row } from './run.js'
import type { Stats, Supervisor } from './supervisor.js'
import type { Watcher } from './watchers.js'
import { MAX_LIFETIME_MS } from './writers.js'

/** The time in ms that each step may take after the faults have stopped. */
const STEP_TIMEOUT_MS = 20_000
/** The time in ms without a change after which no key is left to expire. */
const QUIET_PERIOD_MS = MAX_LIFETIME_MS + 500

/** Waits until every write has an outcome, every client has read all its keys, and no key is left to expire. */
export async function settle({ violations, counts }: ChaosContext, participants: readonly Participant[]) {
  const isQuiet = ({ writers, isSynced }: Participant) => writers.pending === 0 && isSynced
  if (!(await until(STEP_TIMEOUT_MS, () => participants.every(isQuiet)))) {
    for (const participant of participants.filter(participant => !isQuiet(participant)))
      violations.add(
        'does not settle',
        `${participant.description}, ${participant.writers.pending} writes without outcome`,
      )
  }
  // A write with an unknown outcome may be applied later, and the time to live of its value starts only then.
  let [seen, since] = [counts.notifications, performance.now()]
  await until(STEP_TIMEOUT_MS, () => {
    if (counts.notifications !== seen) since = performance.now()
    seen = counts.notifications
    return performance.now() - since > QUIET_PERIOD_MS
  })
}

/** Compares the last entry of every watcher with the stored value until they agree. */
export async function converge(context: ChaosContext, participants: readonly Participant[]) {
  const store = connect(`mqtt://127.0.0.1:${context.addresses[0]?.port}`, { clientId: 'judge' })
  let stored: Map<string, Entry<string>> = new Map()
  const watchers = () =>
    participants.flatMap(participant => participant.watchers.current.map(watcher => ({ one: participant, watcher })))
  const wrong = () =>
    watchers()
      .map(({ one: participant, watcher }) => ({
        one: participant,
        watcher,
        violation: judgeKey(watcher, stored.get(watcher.key)),
      }))
      .filter(({ violation }) => violation !== undefined)
  const globs = () =>
    participants.flatMap(participant => participant.globs.current.map(watcher => ({ one: participant, watcher })))
  const wrongGlobs = () =>
    globs()
      .map(({ one: participant, watcher }) => ({
        one: participant,
        glob: watcher.glob,
        wrong: judgeGlob(watcher, stored),
      }))
      .filter(({ wrong }) => wrong.length > 0)
  await until(STEP_TIMEOUT_MS, async () => {
    stored = await readAll(store, context.keys)
    return wrong().length === 0 && wrongGlobs().length === 0
  })
  const failedGlobs = wrongGlobs()
  for (const { one: participant, glob, wrong } of failedGlobs)
    context.violations.add('glob not converged', `${participant.description} ${glob}: ${wrong.slice(0, 4).join('; ')}`)
  for (const { one: participant, watcher, violation } of wrong())
    context.violations.add('not converged', `${participant.description} ${watcher.key} ${violation}`)
  const watched = new Set(watchers().map(({ watcher }) => watcher.key))
  const failed = new Set(wrong().map(({ watcher }) => watcher.key))
  await store.close()
  const rows: Row[] = [
    ['keys converged', `${watched.size - failed.size} of ${watched.size}`],
    ['  by watchers', watchers().length],
    ['globs converged', `${globs().length - failedGlobs.length} of ${globs().length}`],
  ]
  return { stored, rows }
}

/**
 * Checks that each client has one registration per watched key or glob while the key or glob has subscribers, and none
 * afterwards. A key of a watched glob may have a separate registration if the key was watched before or had to be
 * looked up.
 */
export async function checkRegistrations(
  { violations }: ChaosContext,
  supervisor: Pick<Supervisor, 'stats'>,
  participants: readonly Participant[],
) {
  const wanted = participants.map(wantedBy)
  const globs = wanted.reduce((sum, { globs }) => sum + globs.length, 0)
  const keys = await reach(globs, stats => wanted.flatMap(participant => faultsOf(participant, new Map(stats.watched))))
  for (const { watchers, globs } of participants) {
    watchers.stopAll()
    globs.stopAll()
  }
  await reach(0, () => [])
  return { keys, globs }

  /**
   * Waits until the statistics are as expected for a number of globs.
   *
   * @param count - number of globs
   */
  async function reach(count: number, judge: (stats: Stats) => string[]) {
    let stats = await supervisor.stats()
    const wrong = () => {
      const found = (stats.watches - keysIn(stats)) / KEYS_PER_GLOB
      return [...(found === count ? [] : [`${found} globs at the store, ${count} expected`]), ...judge(stats)]
    }
    await until(STEP_TIMEOUT_MS, async () => {
      stats = await supervisor.stats()
      return wrong().length === 0 && (count > 0 || stats.watches === 0)
    })
    for (const what of wrong()) violations.add('registrations', what)
    if (count === 0 && stats.watches > 0)
      violations.add('registrations', `${stats.watches} at the store, none expected`)
    return keysIn(stats)
  }
}

/** The number of keys that one watched glob counts as at the store. */
const KEYS_PER_GLOB = 100

const keysIn = ({ watched }: Stats) => watched.reduce((sum, [, keys]) => sum + keys.length, 0)

function wantedBy({ name, watchers, globs }: Participant) {
  const keys = new Set(watchers.current.map(({ key }) => key))
  return { name, keys, globs: Array.from(new Set(globs.current.map(({ glob }) => glob))) }
}

function faultsOf(
  { name, keys, globs }: ReturnType<typeof wantedBy>,
  watched: ReadonlyMap<string, readonly string[]>,
): string[] {
  const found = new Set(watched.get(name))
  const isCovered = (key: string) => globs.some(glob => matchesGlob(glob, key))
  const missing = Array.from(keys).filter(key => !found.has(key) && !isCovered(key))
  const left = Array.from(found).filter(key => !keys.has(key) && !isCovered(key))
  return [...missing.map(key => `${name} has none for ${key}`), ...left.map(key => `${name} has one for ${key}`)]
}

function judgeKey({ last, freshness }: Watcher, held: Entry<string> | undefined) {
  if ((freshness ?? 'live') !== 'live') return `is ${freshness}`
  return held === undefined ? 'was not read' : compareState(last, held)
}

const judgeGlob = ({ glob, last, map, freshness }: GlobWatcher, stored: ReadonlyMap<string, Entry<string>>) =>
  compareGlobView(
    { isLive: freshness === 'live', last: key => last.get(key), map, fits: key => matchesGlob(glob, key) },
    stored,
  )

async function readAll(store: StateStore, keys: readonly string[]) {
  const entries = await Promise.all(keys.map(key => firstValueFrom(store.get(key, text))))
  return new Map(entries.map(entry => [entry.key, entry]))
}
