import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { defer, forkJoin, lastValueFrom, map, repeat, takeWhile, timer } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { type Key, number, type StateStore } from '../../../src/client/index.js'
import { serve } from '../../../src/server/index.js'
import { nightly } from '../../support/effort.js'
import { openClient } from '../../support/open-client.js'
import { describeInBrowser } from './support/browser.js'
import { builtPackage } from './support/package.js'
import { rxjsModule, serveStatic } from './support/static-site.js'
import { reads } from './support/waiting.js'

const PAGE = new URL('pages/many-keys.html', import.meta.url)
const KEYS = 500
/** The period in ms. 10 changes per key and second leave some CPU time for the page on two busy cores. */
const PERIOD = 100
/** The least number of rounds. The result does not depend on the duration. */
const ROUNDS = nightly(40, 10)
const WORDS = ['typed', 'while', 'all', 'of', 'them', 'change']
/**
 * The longest permitted task, in ms, or on a slow machine as a share of the duration. A page that processes changes as
 * they arrive has short tasks, and a page that queues them has a few that last seconds. The limits are far from both.
 */
const LONGEST = { ms: 1_500, share: 0.25 }

interface Seen {
  readonly notified: number
  readonly backwards: number
  readonly longTasks: readonly number[]
}

const seenBy = (page: Page): Promise<Seen> => page.evaluate(() => Reflect.get(globalThis, 'seen'))

/** Resolves when all keys show this value. */
const showsEverywhere = (page: Page, value: number) =>
  page.waitForFunction(
    ([count, wanted]) =>
      Array.from(document.querySelectorAll('li')).filter(cell => cell.textContent === String(wanted)).length === count,
    [KEYS, value],
  )

/**
 * Writes all keys repeatedly, at least `ROUNDS` times and until `isDone` returns true. Returns the number of rounds.
 */
function flood(writer: StateStore, isDone: () => boolean): Promise<number> {
  const keys = keysOf(writer)
  let round = 0
  const rounds$ = defer(() => {
    round++
    // A slow round delays the next one.
    return forkJoin([timer(PERIOD), ...keys.map(key => key.set(round))])
  }).pipe(
    repeat(),
    map(() => round),
    takeWhile(() => round < ROUNDS || !isDone(), true),
  )
  return lastValueFrom(rounds$)
}

const keysOf = (store: StateStore): readonly Key<number>[] =>
  Array.from({ length: KEYS }, (_, i) => store.key(`sensor/${i}`, number))

describeInBrowser(`A page that watches ${KEYS} keys`, open => {
  it('the page shows the last change of every key and stays responsive to the keyboard', async ({ annotate }) => {
    const store = await serve({ port: 0, wsPort: 0 })
    onTestFinished(async () => store.close())
    const writer = openClient(store.url)
    await lastValueFrom(forkJoin(keysOf(writer).map(key => key.set(0))))
    const pages = { '/index.html': await readFile(PAGE, 'utf8'), '/rxjs.js': rxjsModule() }
    const site = await serveStatic(builtPackage(), pages)
    const { page } = await open(`${site.url}?store=${store.wsUrl}&keys=${KEYS}`)
    await showsEverywhere(page, 0)
    await page.getByLabel('Field').focus()

    let typed = false
    const started = performance.now()
    const flooding = flood(writer, () => typed)
    for (const [i, word] of WORDS.entries()) {
      await page.keyboard.type(`${word} `)
      await reads(page.locator('output'), WORDS.slice(0, i + 1).join(' '))
    }
    typed = true
    const rounds = await flooding
    const took = performance.now() - started
    await showsEverywhere(page, rounds)

    const { notified, backwards, longTasks } = await seenBy(page)
    await annotate(`${Math.round(rounds / (took / 1000))} changes of each key a second; long tasks: ${longTasks} ms`)
    expect({ notified, backwards }).toEqual({ notified: rounds * KEYS, backwards: 0 })
    expect(Math.max(0, ...longTasks)).toBeLessThan(Math.max(LONGEST.ms, took * LONGEST.share))
  })
})
