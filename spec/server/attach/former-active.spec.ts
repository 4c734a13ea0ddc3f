import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { text } from '../../../src/client/index.js'
import { systemClock } from '../../../src/core/util/clock.js'
import { FailoverController } from '../../../src/server/attach/failover-controller.js'
import { type AttachOptions, settingsFrom } from '../../../src/server/attach/options.js'
import { FORMER_ACTIVE_PRIORITY_MS } from '../../../src/server/attach/service-probe.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openBroker } from '../../support/open-broker.js'
import { openClient, record } from '../../support/open-client.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

function start(url: string, options: AttachOptions, clock: ManualClock | undefined = undefined): FailoverController {
  const reconnect = { initial: 20, max: 200 }
  const controller = new FailoverController(url, settingsFrom({ reconnect, ...options }), clock ?? systemClock)
  onTestFinished(async () => controller.close())
  return controller
}

/** Opens an active service and a standby whose clock the spec advances. */
async function open(active: AttachOptions, standby: AttachOptions) {
  const url = `mqtt://127.0.0.1:${(await openBroker()).port}`
  const link = await layLink(url)
  const first = start(url, active)
  await eventually(() => first.state.state === 'serving')
  const clock = new ManualClock()
  const second = start(link.url, standby, clock)
  await eventually(() => second.state.state === 'standby' && clock.pending === 1)
  return { url, link, clock, first, second, audit: record(second.audit$), faults: record(second.faults$) }
}

/** Lets the standby probe until a time after the first probe that finds no service. */
async function probe(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    await eventually(() => clock.pending === 1)
    clock.advance(1_000)
  }
}

describe('a standby without the keys of the former active service', () => {
  it('the standby waits for a stated time, and then serves with a degraded storage', async () => {
    const { clock, first, second, audit, faults } = await open({ data: temporaryFolder() }, { data: temporaryFolder() })
    await first.close()
    await probe(clock, FORMER_ACTIVE_PRIORITY_MS)
    await eventually(() => clock.pending === 1)
    expect([second.state.state, faults.values]).toEqual(['standby', []])
    clock.advance(1_000)
    await eventually(() => second.state.state === 'serving')
    expect(second.storage).toMatchObject({ state: 'degraded', error: { code: 'keys-missing' } })
    expect(audit.values).toMatchObject([{ event: 'takeover', reason: 'keys-missing' }])
    expect(faults.values).toMatchObject([{ error: { code: 'keys-missing' } }])
  })

  it('the former active service serves its keys again if it returns in time', async () => {
    const data = temporaryFolder()
    const { url, clock, first, second, faults } = await open(
      { data, persist: 'all' },
      {
        data: temporaryFolder(),
      },
    )
    await openClient(url).key('a', text).set('kept')
    await first.close()
    await probe(clock, 5_000)
    const returned = start(url, { data })
    await eventually(() => returned.state.state === 'serving')
    await probe(clock, FORMER_ACTIVE_PRIORITY_MS)
    await eventually(() => clock.pending === 1)
    expect([second.state.state, faults.values]).toEqual(['standby', []])
    expect(await openClient(url).key('a', text).get()).toMatchObject({ value: 'kept' })
  })

  it('the standby waits after a restart too, because both may restart at once', async () => {
    const data = temporaryFolder()
    const { url, first, second } = await open({ data: temporaryFolder() }, { data })
    await eventually(() => existsSync(join(data, 'standby')))
    await Promise.all([first.close(), second.close()])
    const clock = new ManualClock()
    const restarted = start(url, { data }, clock)
    await probe(clock, FORMER_ACTIVE_PRIORITY_MS)
    await eventually(() => clock.pending === 1)
    expect(restarted.state.state).not.toBe('serving')
    clock.advance(1_000)
    await eventually(() => restarted.state.state === 'serving')
    expect(restarted.storage).toMatchObject({ state: 'degraded', error: { code: 'keys-missing' } })
    await eventually(() => !existsSync(join(data, 'standby')))
  })

  it('a standby in memory does not wait while its own connection lasts', async () => {
    const { clock, first, second } = await open({}, {})
    await first.close()
    clock.advance(1_000)
    await eventually(() => second.state.state === 'serving')
  })

  it('a standby in memory waits if its own connection was lost', async () => {
    const { clock, link, first, second } = await open({}, {})
    link.cut()
    await eventually(() => second.state.state === 'reconnecting')
    await first.close()
    link.restore()
    await probe(clock, FORMER_ACTIVE_PRIORITY_MS - 1_000)
    expect(second.state.state).not.toBe('serving')
    await eventually(() => {
      clock.advance(1_000)
      return second.state.state === 'serving'
    })
  })
})

describe('a standby with all keys of the former active service', () => {
  it('the standby does not wait if the active service used the same directory', async () => {
    const data = temporaryFolder()
    const { clock, first, second } = await open({ data }, { data })
    await first.close()
    clock.advance(1_000)
    await eventually(() => second.state.state === 'serving')
    expect(second.storage.state).toBe('kept')
    expect(existsSync(join(data, 'standby'))).toBe(false)
  })
})
