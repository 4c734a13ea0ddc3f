import { lastValueFrom } from 'rxjs'
import { expect, it } from 'vitest'
import { type Clock, number, systemClock } from '../../../src/client/index.js'
import {
  type LateWrite,
  type OptimisticOptions,
  type OptimisticState,
  optimistic,
} from '../../../src/client/optimistic/index.js'
import { fileStorage } from '../../../src/node/file-storage.js'
import { layLink } from '../../support/link.js'
import { openClient, record } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const HOUR_MS = 3_600_000

/** A system clock that can skip hours while nothing runs. */
class SkippingClock implements Clock {
  #passed = 0

  pass(time: number): void {
    this.#passed += time
  }

  now = (): number => systemClock.now() + this.#passed
  monotonic = (): number => systemClock.monotonic()
  schedule = (delay: number, task: () => void): (() => void) => systemClock.schedule(delay, task)
}

interface OutageOptions {
  /** Whether another client writes 30 before the restart. Default `true`. */
  readonly others?: boolean
  /** The time until the restart and the reconnect, in ms. Default three hours. */
  readonly away?: number
  /** The adjustment of the wall clock before the restart, in ms. */
  readonly set?: number
}

/** Writes 24 and 25 in one run while disconnected and ends the run. Hours later, the next run loads what was stored. */
async function restartAfterOutage(
  options: OptimisticOptions<number>,
  { others: hasOtherWriter = true, away: outageMs = 3 * HOUR_MS, set = 0 }: OutageOptions = {},
) {
  const directory = temporaryFolder()
  const settings = {
    ...options,
    ...(options.offline && options.offline !== 'drop' && { storage: fileStorage(directory) }),
  }
  const clock = new SkippingClock()
  const { store } = await openStore({ clock })
  const link = await layLink(store.url)
  const other = openClient(store.url, { clock }).key('valve', number)
  await other.set(20)

  const first = openClient(link.url, { clock })
  const view = optimistic(first.key('valve', number), settings)
  const written = record(view.state$)
  await written.until(({ values }) => values.at(-1)?.state === 'confirmed')
  link.cut()
  await record(first.status$).until(({ values }) => values.at(-1)?.state === 'reconnecting')
  const results: string[] = []
  for (const value of [24, 25])
    view.set(value).subscribe({ next: ({ outcome }) => results.push(outcome), error: ({ code }) => results.push(code) })
  const shown = written.values.at(-1)
  await first.close()

  await store.restart({ keys: 'kept' })
  clock.pass(outageMs + set)
  await other.get()
  if (hasOtherWriter) await other.set(30)
  link.restore()
  const second = openClient(link.url, { clock })
  const after = record(optimistic(second.key('valve', number), settings).state$)
  const becomes = (is: (state: OptimisticState<number>) => boolean): Promise<void> =>
    after.until(({ values }) => values.some(is))
  const ends = async (): Promise<readonly unknown[]> => {
    await after.until(({ values }) => ['confirmed', 'refused'].includes(values.at(-1)?.state ?? ''))
    const { value, state, error, late } = after.values.at(-1) ?? {}
    return [value, state, error?.code, late && Math.floor((late.sentAfter ?? 0) / HOUR_MS)]
  }
  const stored = async (): Promise<number | undefined> => (await lastValueFrom(other.get())).value
  return { shown, results, becomes, ends, stored }
}

const isRestored = ({ late }: OptimisticState<number>): boolean => late?.restored === true

it('drop: a write fails immediately, and nothing is sent later', async () => {
  const { shown, results, ends, stored } = await restartAfterOutage({ offline: 'drop' })
  expect([shown?.value, shown?.state, results]).toEqual([20, 'refused', ['offline', 'offline']])
  expect(await ends()).toEqual([30, 'confirmed', undefined, undefined])
  expect(await stored()).toBe(30)
})

it('without a policy a write fails when its client closes, and nothing is sent later', async () => {
  const { shown, results, ends, stored } = await restartAfterOutage({})
  expect([shown?.value, shown?.state]).toEqual([25, 'pending'])
  expect(results).toEqual(['superseded', 'closed'])
  expect(await ends()).toEqual([30, 'confirmed', undefined, undefined])
  expect(await stored()).toBe(30)
})

it('latest: a write gives way to a later one of another client', async () => {
  const { becomes, ends, stored } = await restartAfterOutage({ offline: 'latest', maxAge: 4 * HOUR_MS })
  await becomes(({ state, late }) => state === 'confirmed' && late?.superseded === true)
  expect(await ends()).toEqual([30, 'confirmed', undefined, 0])
  expect(await stored()).toBe(30)
})

it('latest: without `supersede` the newest write is sent and reports its delay', async () => {
  const { shown, results, becomes, ends, stored } = await restartAfterOutage({
    offline: 'latest',
    supersede: 'never',
    maxAge: 4 * HOUR_MS,
  })
  expect([shown?.value, shown?.state, results]).toEqual([25, 'pending', ['superseded', 'closed']])
  await becomes(isRestored)
  await becomes(({ state, late }) => state === 'confirmed' && late?.sentAfter !== undefined)
  expect(await ends()).toEqual([25, 'confirmed', undefined, 3])
  expect(await stored()).toBe(25)
})

it.each([
  { why: 'it exceeds maxAge', away: 3 * HOUR_MS, set: 0, maxAge: 2 * HOUR_MS },
  { why: 'it exceeds the default maxAge', away: 61_000, set: 0, maxAge: undefined },
  { why: 'the clock was set back to a time before the write', away: HOUR_MS, set: -2 * HOUR_MS, maxAge: 4 * HOUR_MS },
])('latest: a write is not sent when $why', async ({ away: outageMs, set, maxAge }) => {
  const { becomes, stored } = await restartAfterOutage(
    { offline: 'latest', maxAge },
    { others: set === 0, away: outageMs, set },
  )
  await becomes(({ state, error }) => state === 'refused' && error?.code === 'offline')
  expect(await stored()).toBe(set === 0 ? 30 : 20)
})

it.each([true, false])('ask: the callback receives the age and the current value, and decides %s', async yes => {
  const asked: LateWrite<number>[] = []
  const ask = (late: LateWrite<number>): boolean[] => {
    asked.push(late)
    return [yes]
  }
  const { becomes, stored } = await restartAfterOutage({ offline: 'ask', maxAge: 4 * HOUR_MS, ask })
  // The callback runs as soon as the key has been read. A refusal emits no state.
  await expect.poll(() => asked.length).toBe(1)
  await becomes(({ state, value }) => state === 'confirmed' && value === (yes ? 25 : 30))
  expect(asked).toEqual([expect.objectContaining({ key: 'valve', value: 25, current: 30 })])
  expect(Math.floor((asked[0]?.age ?? 0) / HOUR_MS)).toBe(3)
  expect(await stored()).toBe(yes ? 25 : 30)
})

it('cas: a write is sent if the key is unchanged', async () => {
  const { becomes, stored } = await restartAfterOutage({ offline: 'cas', maxAge: 4 * HOUR_MS }, { others: false })
  await becomes(
    ({ state, value, late }) => state === 'confirmed' && value === 25 && (late?.sentAfter ?? 0) >= 3 * HOUR_MS,
  )
  expect(await stored()).toBe(25)
})

it('cas: a write conflicts if another client changed the key', async () => {
  const { becomes, stored } = await restartAfterOutage({ offline: 'cas', maxAge: 4 * HOUR_MS })
  await becomes(({ state, value, error }) => state === 'refused' && value === 30 && error?.code === 'conflict')
  expect(await stored()).toBe(30)
})
