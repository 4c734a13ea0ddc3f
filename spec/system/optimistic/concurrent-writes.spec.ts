import type { Page } from 'playwright-core'
import { lastValueFrom } from 'rxjs'
import { beforeAll, expect, it } from 'vitest'
import { Random } from '../../../harness/random.js'
import { number, systemClock } from '../../../src/client/index.js'
import { nightly, SEED } from '../../support/effort.js'
import { layLink } from '../../support/link.js'
import { openClient } from '../../support/open-client.js'
import { openStore } from '../../support/open-store.js'
import { bundle, servePage } from '../../support/serve-page.js'
import { describeInBrowser } from '../browser/support/browser.js'
import { NO_SOCKET } from '../browser/support/guard.js'
import type { Controls, PageOptions, SerializedState } from './support/page-program.js'

declare const page: Controls

const PROGRAM = new URL('support/page-program.ts', import.meta.url).pathname
/** Chromium's message for writes to a connection that was just lost. */
const CLOSING = /WebSocket is already in CLOSING or CLOSED state/
/** The number of rounds of writes on both pages. Some rounds include a lost connection. */
const ROUNDS = nightly(40, 8)

const OPTIONS: readonly [PageOptions, ...PageOptions[]] = [
  {},
  { conflict: 'refuse' },
  { conflict: 'sum' },
  { offline: 'drop' },
  { offline: 'latest' },
  { offline: 'ask', answer: true },
  { offline: 'cas' },
  { offline: 'latest', conflict: 'sum', isKept: true },
]

const open = (one: Page, key: string, options: PageOptions) =>
  one.evaluate(([name, how]) => page.open(name, how), [key, options] as const)
const settled = (one: Page) => one.evaluate(() => page.settled())
const statesOf = (one: Page): Promise<readonly SerializedState[]> => one.evaluate(() => page.states())
const write = (one: Page, values: readonly number[]) => one.evaluate(all => page.write(all), values)

describeInBrowser('two browsers writing one set point', openPage => {
  let program = ''
  beforeAll(async () => {
    program = await bundle(PROGRAM)
  })

  it(`both browsers and the store agree after each of ${ROUNDS} rounds`, {
    timeout: 120_000 + ROUNDS * 3_000,
  }, async () => {
    const random = new Random(SEED)
    console.info(`${ROUNDS} rounds, SEED=${SEED}`)
    const { store } = await openStore({ clock: systemClock })
    const client = openClient(store.url)
    const address = await servePage(program)
    const links = [await layLink(store.wsUrl), await layLink(store.wsUrl)]
    const pages: Page[] = []
    for (const { url } of links) {
      const opened = await openPage(`${address}?store=${url.replace('mqtt:', 'ws:')}`, { allow: [NO_SOCKET, CLOSING] })
      pages.push(opened.page)
    }
    let value = 0
    const next = () => ++value

    /** Causes a random fault or writes more values. */
    async function strike(): Promise<void> {
      const i = random.int(0, 1)
      const [one, link] = [pages[i], links[i]]
      if (one === undefined || link === undefined) return
      const dice = random.int(1, 10)
      if (dice <= 6) await write(one, Array.from({ length: random.pick([1, 1, 3]) }, next))
      else if (dice <= 8) {
        link.cut()
        await write(one, [next()])
        link.restore()
      } else if (dice === 9) link.hangUp()
      else await store.restart({ keys: 'kept' })
    }

    for (let round = 0; round < ROUNDS; round++) {
      const key = `setPoint/${round}`
      const options = pages.map(() => random.pick(OPTIONS))
      await Promise.all(pages.map((one, i) => open(one, key, options[i] ?? {})))
      await Promise.all(pages.map(settled))
      for (let i = random.int(3, 8); i > 0; i--) await strike()
      for (const link of links) link.restore()
      // The last write of one page reaches the other page a little later.
      await expect
        .poll(
          async () => {
            const shown = await Promise.all(pages.map(settled))
            const { value: stored } = await lastValueFrom(client.key(key, number).get())
            return shown.map(one => one?.value).concat(stored)
          },
          { message: `round ${round} of SEED=${SEED}, ${JSON.stringify(options)}` },
        )
        .toSatisfy((all: readonly unknown[]) => new Set(all).size === 1)
      for (const one of pages) expect(hasReverted(await statesOf(one))).toEqual([])
    }
  })
})

/** Returns the versions that are older than an earlier one. */
function hasReverted(states: readonly SerializedState[]): string[] {
  let newest = [0, 0]
  return states.flatMap(({ version }) => {
    if (version === undefined) return []
    const [wall = 0, counter = 0] = version.split(':').map(Number)
    const [most = 0, count = 0] = newest
    if (wall < most || (wall === most && counter < count)) return [version]
    newest = [wall, counter]
    return []
  })
}
