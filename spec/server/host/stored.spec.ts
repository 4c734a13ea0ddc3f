import { expect, it } from 'vitest'
import type { Client } from '../../../src/core/mqtt5/peer.js'
import { Engine } from '../../../src/server/engine/engine.js'
import { LogFailure, MemoryLog } from '../../../src/server/log/log.js'
import { StoreService } from '../../../src/server/service/store-service.js'
import { ManualClock } from '../../support/manual-clock.js'

it('a server reports changes of its log status, except while the server is being closed', () => {
  const stored: (string | undefined)[] = []
  const engine = new Engine<Client>()
  const server = new StoreService({
    engine,
    log: new MemoryLog(),
    dialect: 'field',
    notifications: 'registered',
    clock: new ManualClock(),
    publish: () => undefined,
    onDrift: () => undefined,
    onLogHealth: failure => stored.push(failure?.problem),
    onError: error => expect.fail(String(error)),
  })
  for (const problem of ['full', 'full', 'closed'] as const) server.report(new LogFailure(problem, problem))
  server.report(undefined)
  server.report(new LogFailure('closed', 'the store is closed'))
  expect(stored).toEqual(['full', undefined])
})
