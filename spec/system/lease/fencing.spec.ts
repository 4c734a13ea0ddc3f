import type { ChildProcess } from 'node:child_process'
import { firstValueFrom, fromEvent, map } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Hlc, type StateStore, text } from '../../../src/client/index.js'
import { fenced, type LeaseState } from '../../../src/client/lease/index.js'
import { lease } from '../../../src/client/lease/lease.js'
import { serve } from '../../../src/server/index.js'
import { bundledProgram } from '../../support/bundle.js'
import { openClient, type Recording, record } from '../../support/open-client.js'
import { launch } from '../../support/running-program.js'

/** The lease's duration in ms, long enough for a busy machine to renew it in time. */
const DURATION = 4_000

const program = bundledProgram(new URL('../../client/lease/holder-process.ts', import.meta.url))

interface Holder {
  readonly child: ChildProcess
  /** All output of the process. */
  readonly said: Recording<string>
}

function startHolder(url: string): Holder {
  const stdio = ['pipe' as const, 'inherit' as const, 'inherit' as const, 'ipc' as const]
  const { child } = launch(process.execPath, [program(), url, String(DURATION)], { stdio })
  return { child, said: record(fromEvent(child, 'message', String)) }
}

const saidSomething = (what: RegExp) => (said: Recording<string>) => said.values.some(line => what.test(line))
const isHeld = ({ values }: Recording<LeaseState>): boolean => values.at(-1)?.status === 'held'

function tokenOf({ values }: Recording<LeaseState>): Hlc {
  const held = values.filter(state => state.status === 'held').at(-1)
  if (held === undefined) throw new Error('It does not hold the lease')
  return held.token
}

const read = async (store: StateStore): Promise<string | undefined> =>
  firstValueFrom(store.get('recipe', text).pipe(map(({ value }) => value)))

/** Starts a process that holds the lease and has written with its token, and a rival that waits for the lease. */
async function open(): Promise<Holder & { store: StateStore; rival: Recording<LeaseState> }> {
  const server = await serve({ port: 0, wsPort: 0 })
  onTestFinished(async () => server.close())
  const holder = startHolder(server.url)
  await holder.said.until(saidSomething(/^works/))
  holder.child.send('write')
  await holder.said.until(saidSomething(/^wrote/))
  const store = openClient(server.url, { clientId: 'rival' })
  const rival = record(lease(store, 'line-1', { duration: DURATION }))
  await rival.until(({ values }) => values.at(-1)?.status === 'waiting')
  return { ...holder, store, rival }
}

/** Lets the rival take over the lease and write. */
async function takeOver(store: StateStore, rival: Recording<LeaseState>): Promise<string> {
  await rival.until(isHeld)
  await firstValueFrom(fenced(store, tokenOf(rival)).key('recipe', text).set('by the rival'))
  const state = rival.values.at(-1)
  return state?.status === 'held' ? state.holder : ''
}

/**
 * Checks that no late write of the process is stored, and that the process holds the lease and writes again when the
 * rival leaves.
 */
async function expectSafe(
  { child, said, store, rival }: Awaited<ReturnType<typeof open>>,
  name: string,
): Promise<void> {
  await said.until(saidSomething(/got/))
  await said.until(saidSomething(/^waiting/))
  expect(await read(store)).toBe('by the rival')
  expect(said.values).toEqual(expect.arrayContaining([expect.stringMatching(/^lost/), 'stopped', `waiting ${name}`]))
  const before = said.values.filter(line => line.startsWith('works')).length
  expect(before).toBe(1)
  rival.unsubscribe()
  await said.until(({ values }) => values.filter(line => line.startsWith('works')).length === 2)
  child.send('write')
  await said.until(({ values }) => values.filter(line => line.startsWith('wrote')).length === 2)
  expect(await read(store)).toMatch(/^by \d+:\d+:StateStore$/)
}

describe('a process that pauses for longer than its lease', () => {
  it("a stopped process's write is rejected, and it loses its work and waits", async () => {
    const world = await open()
    world.child.kill('SIGSTOP')
    const name = await takeOver(world.store, world.rival)
    world.child.send('write')
    world.child.kill('SIGCONT')
    await expectSafe(world, name)
    expect(world.said.values).toContainEqual(expect.stringMatching(/^believed \w+, got fencing-token-stale$/))
  })

  it("a blocked process's write is rejected, even if sent before it notices the loss", async () => {
    const world = await open()
    world.child.send('stall')
    await world.said.until(saidSomething(/^stalls$/))
    const name = await takeOver(world.store, world.rival)
    world.child.stdin?.write('x')
    await expectSafe(world, name)
    expect(world.said.values).toContain('believed held, got fencing-token-stale')
  })
})
