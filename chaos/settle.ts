import type { Entry } from 'rx-statestore'
import { connect, text } from 'rx-statestore'
import { firstValueFrom } from 'rxjs'
import { compareGlobView, compareState } from '../harness/judges/convergence.js'
import { globMatcher } from '../harness/judges/glob.js'
import { nameOf, uniqueValue } from '../harness/judges/values.js'
import type { ChaosContext } from './context.js'
import { now } from './now.js'
import type { Participant } from './participant.js'
import { until } from './random-interval.js'
import type { Row } from './run.js'
import type { StoreStats } from './store-main.js'
import type { StoreProcess } from './store-process.js'
import type { Watcher } from './watchers.js'
import { MAX_LIFETIME_MS } from './writers.js'

/** The time in ms that each step may take after the faults have stopped. */
const STEP_TIMEOUT_MS = 20_000
/** The time in ms without a change after which no key is left to expire. */
const QUIET_PERIOD_MS = MAX_LIFETIME_MS + 500
/** The number of keys that one watched glob counts as at the store. */
const KEYS_PER_GLOB = 100

/** Waits until every write has an outcome, every client has read all its keys, and no key is left to expire. */
export async function settle({ violations, tally }: ChaosContext, participants: readonly Participant[]) {
  const loud = () => participants.filter(({ writers, isSynced }) => writers.pending > 0 || !isSynced)
  await until(STEP_TIMEOUT_MS, () => loud().length === 0)
  for (const { description, writers } of loud())
    violations.add('does not settle', `${description}, ${writers.pending} writes without outcome`)
  // A write with an unknown outcome may be applied later, and the time to live of its value starts only then.
  let [seen, since] = [tally.of('notifications'), performance.now()]
  await until(STEP_TIMEOUT_MS, () => {
    if (tally.of('notifications') !== seen) since = performance.now()
    seen = tally.of('notifications')
    return performance.now() - since > QUIET_PERIOD_MS
  })
}

/** Compares what every watcher shows with the stored values until they agree. */
export async function converge({ addresses, keys, violations }: ChaosContext, participants: readonly Participant[]) {
  const store = connect(`mqtt://127.0.0.1:${addresses[0]?.port}`, { clientId: 'judge' })
  let stored = new Map<string, Entry<string>>()
  const watchers = participants.flatMap(({ watchers, description }) =>
    watchers.current.map(watcher => ({ watcher, description })),
  )
  const differences = () =>
    watchers
      .map(({ watcher, description }) => ({ watcher, description, differences: differencesOf(watcher, stored) }))
      .filter(({ differences }) => differences.length > 0)
  await until(STEP_TIMEOUT_MS, async () => {
    const entries = await Promise.all(keys.map(key => firstValueFrom(store.get(key, text))))
    stored = new Map(entries.map(entry => [entry.key, entry]))
    return differences().length === 0
  })
  for (const { watcher, description, differences: found } of differences())
    violations.add('not converged', `${description} ${watcher.target}: ${found.slice(0, 4).join('; ')}`)
  await store.close()
  const row: Row = ['watchers converged', `${watchers.length - differences().length} of ${watchers.length}`]
  return { stored, row }
}

function differencesOf({ kind, target, last, map, freshness }: Watcher, stored: ReadonlyMap<string, Entry<string>>) {
  const isLive = (freshness ?? 'live') === 'live'
  if (kind === 'glob')
    return compareGlobView({ isLive, last: key => last.get(key), map, fits: globMatcher(target) }, stored)
  if (!isLive) return [`is ${freshness}`]
  const held = stored.get(target)
  const difference = held === undefined ? 'was not read' : compareState(last.get(target), held)
  return difference === undefined ? [] : [difference]
}

/**
 * Changes every key once, so that {@link converge} shows whether every watcher receives the change. With another broker,
 * the exact set of registrations is unknown, because the registrations of disconnected clients end only at the next
 * change.
 */
export async function changeEveryKey({ addresses, keys, recorder }: ChaosContext) {
  const client = 'judge'
  const store = connect(`mqtt://127.0.0.1:${addresses[0]?.port}`, { clientId: client })
  await Promise.all(
    keys.map(async (key, number) => {
      const value = uniqueValue(`${client}.0`, number, 0)
      const { version } = await store.key(key, text).set(value)
      const write = { client, verb: 'SET', key, value: nameOf(value), expires: false } as const
      recorder.write({ type: 'write', ...write, outcome: 'applied', version: version?.toString(), at: now() })
    }),
  )
  await store.close()
}

/**
 * Checks that each client has one registration per watched key or glob while the key or glob has subscribers, and none
 * afterwards. A key of a watched glob may have a separate registration if the key was watched before or had to be
 * looked up.
 */
export async function checkRegistrations(
  { violations, tally }: ChaosContext,
  store: StoreProcess,
  participants: readonly Participant[],
) {
  const wanted = participants.map(({ name, watchers: { current } }) => ({
    name,
    keys: new Set(current.filter(({ kind }) => kind !== 'glob').map(({ target }) => target)),
    globs: new Set(current.filter(({ kind }) => kind === 'glob').map(({ target }) => target)),
  }))
  const globs = wanted.reduce((sum, participant) => sum + participant.globs.size, 0)
  await reach(({ watches, watched }) => {
    const registered = new Map(watched)
    const keys = watched.reduce((sum, [, registeredKeys]) => sum + registeredKeys.length, 0)
    const found = (watches - keys) / KEYS_PER_GLOB
    const wrong = wanted.flatMap(participant => differencesOfKeys(participant, registered.get(participant.name) ?? []))
    return found === globs ? wrong : [...wrong, `${found} globs at the store, ${globs} expected`]
  })
  tally.add('registrations of globs', globs)
  for (const { watchers } of participants) watchers.stopAll()
  await reach(({ watches }) => (watches === 0 ? [] : [`${watches} at the store, none expected`]))

  async function reach(differences: (stats: StoreStats) => string[]) {
    let wrong: string[] = []
    await until(STEP_TIMEOUT_MS, async () => {
      wrong = differences(await store.stats())
      return wrong.length === 0
    })
    for (const what of wrong) violations.add('registrations', what)
  }
}

function differencesOfKeys(
  { name, keys, globs }: { name: string; keys: ReadonlySet<string>; globs: ReadonlySet<string> },
  registered: readonly string[],
): string[] {
  const matchers = Array.from(globs, globMatcher)
  const isCovered = (key: string) => matchers.some(matches => matches(key))
  const missing = Array.from(keys).filter(key => !registered.includes(key) && !isCovered(key))
  const extra = registered.filter(key => !keys.has(key) && !isCovered(key))
  return [...missing.map(key => `${name} has none for ${key}`), ...extra.map(key => `${name} has one for ${key}`)]
}
