import { encodeNotification } from '../../../src/core/protocol/notifications.js'
import { type Dialect, encodeReply } from '../../../src/core/protocol/replies.js'
import { Engine, type KeyChange } from '../../../src/server/engine/engine.js'
import {
  conformanceSuite,
  isWatch,
  type Target,
  type TargetOptions,
  type Telling,
} from '../../suites/conformance-suite.js'
import { expire, handle } from '../../support/engine-requests.js'
import { textOf } from '../../support/words.js'

function bareEngine(dialect: Dialect, { clock, clients, bounds }: TargetOptions): Target {
  const engine = new Engine<string>(bounds)
  const inboxes = new Map<string, Telling[]>(clients.map(client => [client, []]))
  const tell = (changes: readonly KeyChange[]): void => {
    for (const { key, notification, version, isExpired } of changes) {
      const reason = notification.op === 'set' ? undefined : isExpired ? 'expired' : 'deleted'
      const payload = textOf(encodeNotification(notification, dialect))
      for (const watcher of engine.watchersOf(key)) {
        inboxes.get(watcher)?.push({ key: textOf(key), payload, version: String(version), reason })
      }
    }
  }
  return {
    async send(client, request) {
      const { reply, version, changes } = handle(engine, request, client, clock.now())
      tell(changes)
      return { payload: encodeReply(reply, dialect, isWatch(request.payload)), version: version && String(version) }
    },
    advance(ms) {
      const end = clock.now() + ms
      while (engine.nextDeadline !== undefined && engine.nextDeadline <= end) {
        clock.advance(engine.nextDeadline - clock.now())
        tell(expire(engine, clock.now()))
      }
      clock.advance(end - clock.now())
    },
    told: async client => inboxes.get(client)?.splice(0) ?? [],
  }
}

for (const dialect of ['field', 'documented'] as const) {
  conformanceSuite(`The bare engine, ${dialect} dialect`, dialect, async options => bareEngine(dialect, options))
}
