import { expect, it, onTestFinished } from 'vitest'
import { InstanceManager } from '../../../src/server/host/instance-manager.js'
import { checkOptions } from '../../../src/server/host/options.js'
import { watchQuotas } from '../../../src/server/host/quotas.js'
import { createAccessControl } from '../../../src/server/host/security.js'
import { concernListener, logEventListener, newStoreEvents } from '../../../src/server/host/store-events.js'
import { createStorage } from '../../../src/server/storage/storage.js'
import { record } from '../../support/open-client.js'

it('a restart reports that the storage keeps writes only if it did not keep them before', async () => {
  const options = checkOptions({ port: 0, wsPort: 0 })
  const events = newStoreEvents()
  const access = createAccessControl(options, events.faults$)
  const host = { events: logEventListener(events), onLogHealth: concernListener(events), countClients: () => 0 }
  const storage = await createStorage({ options, watches: watchQuotas(options), rights: undefined, host })
  const instances = await InstanceManager.start({ options, events, storage, access })
  onTestFinished(() => instances.close())
  const statuses = record(events.storage$)
  await instances.restart('kept')
  expect(statuses.values.map(({ state }) => state)).toEqual(['kept'])
  events.storage$.next({ state: 'broken', error: new Error('EIO') })
  await instances.restart('kept')
  expect(statuses.values.map(({ state }) => state)).toEqual(['kept', 'broken', 'kept'])
})
