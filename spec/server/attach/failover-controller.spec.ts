import { EMPTY, type Observable, of, Subject, throwError } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/util/clock.js'
import { StateStoreError } from '../../../src/core/util/errors.js'
import { FailoverController } from '../../../src/server/attach/failover-controller.js'
import { settingsFrom } from '../../../src/server/attach/options.js'
import type { SharedLog } from '../../../src/server/log/cluster/settings.js'
import type { Stream } from '../../../src/server/log/cluster/stream.js'
import { LogFailure } from '../../../src/server/log/log.js'
import { eventually } from '../../support/eventually.js'
import { layLink } from '../../support/link.js'
import { ManualClock } from '../../support/manual-clock.js'
import { openAttached } from '../../support/open-attached.js'
import { openBroker } from '../../support/open-broker.js'
import { FakeCluster, FakeStream } from '../log/cluster/fake-stream.js'

const TIMEOUT = new StateStoreError('timeout', 'for the test')

/** Opens a controller at a broker without a store. `attempts` are the results of connecting to the log, in order. */
async function open(...attempts: readonly Observable<Stream>[]) {
  const broker = await openBroker()
  const opened: number[] = []
  const log: SharedLog = {
    name: 'spec',
    settings: { nodeId: 'a', stallTimeout: 60_000 },
    connect: () => {
      opened.push(opened.length)
      return attempts[opened.length - 1] ?? throwError(() => TIMEOUT)
    },
  }
  const clock = new ManualClock()
  const controller = new FailoverController(`mqtt://127.0.0.1:${broker.port}`, settingsFrom({ log }), clock)
  onTestFinished(async () => controller.close())
  return { broker, controller, clock, opened }
}

const newStream = (): Stream =>
  Object.assign(new FakeStream(new FakeCluster(systemClock), 1024 * 1024), { close: () => EMPTY })

it('an activation cancels the retry, and closing leaves no connection open', async () => {
  const second$ = new Subject<Stream>()
  const { broker, controller, clock, opened } = await open(
    throwError(() => TIMEOUT),
    second$,
  )
  await eventually(() => opened.length === 2)
  expect(clock.pending).toBe(0)
  clock.advance(1_000)
  second$.next(newStream())
  await eventually(() => controller.state.state === 'serving')
  await controller.close()
  await eventually(() => Array.from(broker.connections).length === 0)
})

it('an activation that cannot open its log is retried after a second and then serves', async () => {
  const { controller, clock, opened } = await open(
    throwError(() => TIMEOUT),
    throwError(() => TIMEOUT),
    of(newStream()),
  )
  await eventually(() => opened.length === 2 && clock.pending === 1)
  clock.advance(1_000)
  await eventually(() => controller.state.state === 'serving')
  expect(opened).toHaveLength(3)
})

it('an activation that fails while the controller is closing schedules no retry', async () => {
  const first$ = new Subject<Stream>()
  const { controller, clock, opened } = await open(first$)
  await eventually(() => opened.length === 1)
  first$.error(TIMEOUT)
  await controller.close()
  expect(clock.pending).toBe(0)
})

it('a store that takes over again no longer has the storage status of its earlier service', {
  tags: 'slow',
}, async () => {
  const url = `mqtt://127.0.0.1:${(await openBroker()).port}`
  const link = await layLink(url)
  const controller = new FailoverController(link.url, settingsFrom({}), systemClock)
  onTestFinished(async () => controller.close())
  await eventually(() => controller.state.state === 'serving')
  controller.handler?.server.report(new LogFailure('full', 'the disk is full'))
  expect(controller.storage.state).toBe('full')
  link.cut()
  const other = await openAttached(url)
  link.restore()
  await eventually(() => controller.state.state === 'standby')
  await other.close()
  await eventually(() => controller.state.state === 'serving')
  expect(controller.storage.state).toBe('degraded')
})

it('a store whose connection is lost while it closes does not wait for its last answers', async () => {
  const broker = await openBroker()
  const link = await layLink(`mqtt://127.0.0.1:${broker.port}`)
  const clock = new ManualClock()
  const controller = new FailoverController(link.url, settingsFrom({}), clock)
  await eventually(() => controller.state.state === 'serving')
  const { subscriptions } = broker.stats
  link.stall('down')
  const closed = controller.close()
  await eventually(() => broker.stats.subscriptions < subscriptions)
  link.cut()
  await closed
  expect(clock.pending).toBe(0)
})
