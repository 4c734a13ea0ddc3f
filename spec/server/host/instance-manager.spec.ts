import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import { InstanceManager, NodeMonitor } from '../../../src/server/host/instance-manager.js'
import { checkOptions } from '../../../src/server/host/options.js'
import { watchQuotas } from '../../../src/server/host/quotas.js'
import { createAccessControl } from '../../../src/server/host/security.js'
import { concernListener, logEventListener, newStoreEvents } from '../../../src/server/host/store-events.js'
import { createStorage } from '../../../src/server/storage/storage.js'
import { claimedPorts } from '../../support/claimed-ports.js'
import { record } from '../../support/open-client.js'

async function open() {
  const options = checkOptions(await claimedPorts())
  const events = newStoreEvents()
  const access = createAccessControl(options, events.faults$)
  const host = { events: logEventListener(events), onLogHealth: concernListener(events), countClients: () => 0 }
  const storage = await createStorage({ options, watches: watchQuotas(options), rights: undefined, host })
  const instances = await InstanceManager.start({ options, events, storage, access })
  onTestFinished(() => instances.close())
  return { events, storage, instances, statuses: record(events.storage$) }
}

it('a restart reports that the storage keeps writes only if it did not keep them before', async () => {
  const { events, instances, statuses } = await open()
  await instances.restart('kept')
  expect(statuses.values.map(({ state }) => state)).toEqual(['kept'])
  events.storage$.next({ state: 'broken', error: new Error('EIO') })
  await instances.restart('kept')
  expect(statuses.values.map(({ state }) => state)).toEqual(['kept', 'broken', 'kept'])
})

it('a node does not repeat a restart that fails while its store closes', async () => {
  const { events, storage, instances, statuses } = await open()
  const monitor = new NodeMonitor(events, instances)
  vi.spyOn(storage, 'open').mockRejectedValueOnce(new Error('no messages arrive'))
  const restarted = monitor.restart()
  const schedule = vi.spyOn(systemClock, 'schedule')
  onTestFinished(() => void vi.restoreAllMocks())
  monitor.stop()
  await expect(restarted).rejects.toThrow('no messages arrive')
  expect(schedule).not.toHaveBeenCalledWith(5_000, expect.anything())
  expect(statuses.values.map(({ state }) => state)).toEqual(['kept'])
})

it('a node does not repeat a failed restart if another restart follows', async () => {
  const { events, storage, instances, statuses } = await open()
  const monitor = new NodeMonitor(events, instances)
  onTestFinished(() => monitor.stop())
  const schedule = vi.spyOn(systemClock, 'schedule')
  onTestFinished(() => void vi.restoreAllMocks())
  vi.spyOn(storage, 'open').mockRejectedValueOnce(new Error('no messages arrive'))
  const [failed, restarted] = [monitor.restart(), monitor.restart()]
  await expect(failed).rejects.toThrow('no messages arrive')
  await restarted
  expect(schedule).not.toHaveBeenCalledWith(5_000, expect.anything())
  expect([instances.isAccepting, statuses.values.map(({ state }) => state)]).toEqual([true, ['kept']])
})
