import { afterEach, describe, expect, it, vi } from 'vitest'
import { EarlierWrites } from '../../src/client/requests/earlier-writes.js'
import { Registry } from '../../src/client/watch/registry.js'
import { Watch } from '../../src/client/watch/watch.js'
import { WatchRequests } from '../../src/client/watch/watch-requests.js'
import { some } from '../support/effort.js'
import { scheduleOf } from './generators.js'
import { seedsFrom } from './seeds-from.js'
import { simulate } from './simulate.js'

/** Of a live map what handlers add while it is walked over has its turn as well. */
function walkOverLiveMap(): void {
  const { connected } = Registry.prototype
  const { join } = Watch.prototype
  const { send } = WatchRequests.prototype
  const requests = new Set<WatchRequests>()
  let isWalking = false
  const added = new Set<Watch>()
  vi.spyOn(Watch.prototype, 'join').mockImplementation(function (this: Watch, observer) {
    if (isWalking && this.abandoned) added.add(this)
    join.call(this, observer)
  })
  vi.spyOn(WatchRequests.prototype, 'send').mockImplementation(function (this: WatchRequests, watch, request) {
    if (isWalking) requests.add(this)
    send.call(this, watch, request)
  })
  vi.spyOn(Registry.prototype, 'connected').mockImplementation(function (this: Registry, connection) {
    isWalking = true
    connected.call(this, connection)
    isWalking = false
    for (const watch of added) for (const each of requests) if (!watch.isOver) send.call(each, watch, 'KEYNOTIFY')
    added.clear()
    requests.clear()
  })
}

function tellOneByOne(): void {
  const { tell } = Watch.prototype
  vi.spyOn(Watch.prototype, 'tell').mockImplementation(function (this: Watch, entries, freshness) {
    for (const entry of entries) tell.call(this, [entry], freshness)
  })
}

function waitForAnswersInVain(): void {
  vi.spyOn(EarlierWrites.prototype, 'take').mockReturnValue([])
}

/** As if all answers of a store came in the order of requests. */
function giveUpByAnyAnswer(): void {
  const { take } = EarlierWrites.prototype
  vi.spyOn(EarlierWrites.prototype, 'take').mockImplementation(function (this: EarlierWrites) {
    return this.subjects.flatMap(([subject]) => take.call(this, subject))
  })
}

const MUTANTS: Record<string, () => void> = {
  'a copy of the watches while a connection begins': walkOverLiveMap,
  'one step told to those who listened before it': tellOneByOne,
  'an end of waiting for answers that cannot come any more': waitForAnswersInVain,
  'patience with answers about other keys': giveUpByAnyAnswer,
}

const MOST_SCHEDULES = 6_000

function caughtAt(): { readonly seed: number; readonly objection: string } | undefined {
  for (const seed of seedsFrom(1, MOST_SCHEDULES)) {
    const [objection] = simulate(scheduleOf(seed)).violations
    if (objection !== undefined) return { seed, objection }
  }
  return undefined
}

describe('the oracle of watches objects when handlers call back in without', () => {
  afterEach(() => void vi.restoreAllMocks())

  it.each(some(Object.entries(MUTANTS), 2))('%s', { timeout: 120_000 }, (name, switchOff) => {
    switchOff()
    const caught = caughtAt()
    console.info(`${name} off: caught at seed ${caught?.seed}: ${caught?.objection}`)
    expect(caught).toBeDefined()
  })
})
