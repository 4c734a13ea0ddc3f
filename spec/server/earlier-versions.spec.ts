import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../src/client/index.js'
import type { StoreServer } from '../../src/server/index.js'
import { HOUR_MS, openDirectory, openStream, readContents, recordFixtures } from '../fixtures/fixture.js'
import { ManualClock } from '../support/manual-clock.js'
import { openClient } from '../support/open-client.js'
import { temporaryFolder } from '../support/temporary-folder.js'

// `RECORD_FIXTURES=1 npx vitest run spec/server/earlier-versions.spec.ts` records the fixtures of this version, once
// before its release. Recorded fixtures never change.
const FIXTURES = new URL('../fixtures/', import.meta.url).pathname
const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)
const recorded = readdirSync(FIXTURES, { withFileTypes: true }).filter(entry => entry.isDirectory())
const FORMS = ['directory', 'directory-without-snapshot', 'log', 'signed-log'] as const

const turn = async (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Opens a fixture at the time of its recording. */
async function open(folder: string, form: (typeof FORMS)[number]) {
  const file = join(folder, `${form}.json`)
  const contents = await readContents(file)
  const clock = new ManualClock(contents.recordedAt)
  const opening: { store?: StoreServer; error?: unknown } = {}
  const isDirectory = form.startsWith('directory')
  const started = isDirectory ? openDirectory(file, clock) : openStream(file, clock, form === 'signed-log')
  started.then(
    store => Object.assign(opening, { store }),
    error => Object.assign(opening, { error }),
  )
  while (opening.store === undefined && opening.error === undefined) {
    // A shared log opens in steps that wait for messages.
    if (!isDirectory) clock.advance(1)
    await turn()
  }
  const { store } = opening
  if (store === undefined) throw opening.error
  let isClosed = false
  onTestFinished(async () => {
    store.close().then(() => {
      isClosed = true
    })
    while (!isClosed) {
      clock.advance(100)
      await turn()
    }
  })
  return { store, clock, contents }
}

async function check(folder: string, form: (typeof FORMS)[number]): Promise<void> {
  const { store, clock, contents } = await open(folder, form)
  expect([...store.dump()]).toEqual(contents.lines)
  const tokens = contents.lines.filter(({ fencingToken }) => fencingToken !== undefined)
  expect(tokens.map(({ key }) => key)).toEqual(['fenced'])
  const expiring = contents.lines.filter(({ expiresAt }) => expiresAt !== undefined)
  expect(expiring.map(({ key }) => key).sort()).toEqual(['expires', 'lock'])
  await advanceUntil(clock, 2 * HOUR_MS, () => [...store.dump()].length === contents.lines.length - 2)
  expect([...store.dump()]).toEqual(contents.lines.filter(line => !expiring.includes(line)))
}

/** Advances the clock, and then further until the condition holds. */
async function advanceUntil(clock: ManualClock, ms: number, holds: () => boolean): Promise<void> {
  for (let step = 0; step < 120; step++) {
    clock.advance(ms / 120)
    await turn()
  }
  while (!holds()) {
    clock.advance(10)
    await turn()
  }
}

describe('Data of earlier versions', () => {
  for (const { name } of recorded)
    for (const form of FORMS)
      it(`the ${form} of version ${name} opens with keys, versions, tokens and expiry times`, async () => {
        await check(join(FIXTURES, name), form)
      })

  it('there are fixtures of this version', () => {
    expect(recorded.map(({ name }) => name)).toContain(version)
  })

  it('a fencing token of an earlier version still protects its key', async () => {
    const { store, clock } = await open(join(FIXTURES, version), 'directory')
    const key = openClient(store.url, { clock }).key('fenced', text)
    await expect(Promise.resolve(key.set('unguarded'))).rejects.toMatchObject({ code: 'fencing-token-required' })
  })

  it('this version records fixtures that it opens', { tags: 'slow', timeout: 60_000 }, async () => {
    const isRecording = process.env['RECORD_FIXTURES'] !== undefined
    const folder = isRecording ? join(FIXTURES, version) : temporaryFolder()
    await recordFixtures(folder)
    for (const form of FORMS) await check(folder, form)
  })
})
