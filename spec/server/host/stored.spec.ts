import { Subject } from 'rxjs'
import { expect, it } from 'vitest'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { Engine } from '../../../src/server/engine/engine.js'
import { LogFailure, MemoryLog } from '../../../src/server/log/log.js'
import { StateStoreService } from '../../../src/server/service/service.js'
import { StateStoreServer } from '../../../src/server/service/state-store-server.js'
import { ManualClock } from '../../support/manual-clock.js'

it('a server reports what becomes of its log when that changes, and nothing when the store is being closed', () => {
  const stored: (string | undefined)[] = []
  const engine = new Engine<Client>()
  const server = new StateStoreServer(
    engine,
    new StateStoreService(engine, 'field', () => false),
    new MemoryLog(),
    new Subject(),
    {
      dialect: 'field',
      notifications: 'registered',
      clock: new ManualClock(),
      publish: () => undefined,
      drifted: () => undefined,
      stored: failure => stored.push(failure?.problem),
      faulted: error => expect.fail(String(error)),
    },
  )
  for (const problem of ['full', 'full', 'closed'] as const) server.settled(new LogFailure(problem, problem))
  server.settled(undefined)
  server.settled(new LogFailure('closed', 'the store is closed'))
  expect(stored).toEqual(['full', undefined])
})
