import { pathToFileURL } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { expect, inject, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../../../src/client/index.js'
import { type ConsoleOptions, ConsoleServer } from '../../../../src/server/console/console-server.js'
import {
  type AttachedStore,
  type DumpLine,
  type ServeOptions,
  type StoreServer,
  serve,
} from '../../../../src/server/index.js'
import { claimedPorts } from '../../../support/claimed-ports.js'

/** Returns the URL of the console page, which is built from the current sources. */
const page = (): URL => pathToFileURL(`${inject('page')}/`)

/** The system clock with faster timers, because the page shows many changes of the store after its next sample. */
const FAST_SAMPLES: Clock = { ...systemClock, schedule: (ms, task) => systemClock.schedule(ms / 4, task) }

export interface RunningConsole {
  readonly store: StoreServer
  readonly server: ConsoleServer
}

/** Starts a store with these keys, which are also its seed, and its console. Both are closed at the end of the test. */
export async function startConsole(
  seed: readonly DumpLine[] = [],
  options: ServeOptions = {},
): Promise<RunningConsole> {
  const store = await serve({ ...(await claimedPorts()), ...options })
  onTestFinished(async () => store.close())
  await store.load(seed)
  const server = await serveConsoleOf(store, { seed, faults: true })
  return { store, server }
}

export async function serveConsoleOf(
  store: StoreServer | AttachedStore,
  options: Partial<ConsoleOptions>,
): Promise<ConsoleServer> {
  const defaults = { host: '127.0.0.1', port: 0, seed: undefined, version: '1.2.3', page: page(), clock: FAST_SAMPLES }
  const server = await ConsoleServer.start(store, { ...defaults, ...options })
  onTestFinished(async () => server.close())
  return server
}

export class ConsolePage {
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  /** The displayed health, such as `live` or `stale`. */
  get health(): Locator {
    return this.#page.locator('.health')
  }

  get grid(): Locator {
    return this.#page.getByRole('grid', { name: 'Keys' }).or(this.#page.getByRole('treegrid', { name: 'Keys' }))
  }

  /** The element that scrolls the list. */
  get scroller(): Locator {
    return this.#page.locator('.grid')
  }

  /** Returns the row of a branch, by its full prefix. */
  branch(path: string): Locator {
    return this.grid.locator('.grid-branch').filter({ has: this.#page.getByTitle(path, { exact: true }) })
  }

  get detail(): Locator {
    return this.#page.getByRole('complementary', { name: 'Open key' })
  }

  get dialog(): Locator {
    return this.#page.getByRole('dialog')
  }

  get toasts(): Locator {
    return this.#page.getByRole('log', { name: 'Messages' })
  }

  /** Resolves when the page has shown this message, which it removes after some seconds. */
  async showed(message: string | RegExp): Promise<void> {
    const messages = (): Promise<readonly string[]> => this.#page.evaluate('messages')
    await expect.poll(messages).toContainEqual(expect.stringMatching(message))
  }

  get search(): Locator {
    return this.#page.getByRole('searchbox', { name: 'Search keys by glob' })
  }

  row(key: string): Locator {
    return this.grid.getByRole('row').filter({ has: this.#page.getByTitle(key, { exact: true }) })
  }

  cell(key: string, column: 'key' | 'value' | 'activity' | 'age' | 'ttl' | 'watchers'): Locator {
    return this.row(key).locator(`.cell-${column}`)
  }

  async keys(): Promise<readonly string[]> {
    return this.grid
      .locator('.grid-body .cell-key')
      .evaluateAll(cells => cells.map(cell => cell.getAttribute('title') ?? ''))
  }

  async open(key: string): Promise<void> {
    await this.row(key).click()
    await this.detail.getByRole('heading', { name: key }).waitFor()
  }

  async press(name: string): Promise<void> {
    await this.#page.getByRole('button', { name, exact: true }).click()
  }

  async goTo(view: 'Keys' | 'Clients' | 'Store' | 'Metrics'): Promise<void> {
    await this.#page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click()
  }

  async fill(fields: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(fields)) {
      if (name === 'Type') await this.dialog.getByRole('radio', { name: value }).check()
      else if (name === 'Condition') await this.dialog.getByLabel(name).selectOption(value)
      else await this.dialog.getByLabel(name, { exact: true }).fill(value)
    }
  }

  async decide(name: string): Promise<void> {
    await this.dialog.getByRole('button', { name, exact: true }).click()
  }
}
