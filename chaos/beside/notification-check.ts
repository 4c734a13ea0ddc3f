import { connect, text } from 'rx-statestore'
import { now } from '../now.js'
import type { ChaosContext, Participant } from '../participant.js'
import { converge } from '../settle.js'
import { nameOf, uniqueValue } from '../values.js'

/**
 * Changes every key once, and checks that every watcher receives the change. With another broker, the exact set of
 * registrations is unknown, because the registrations of disconnected clients end only at the next change.
 */
export async function checkNotifications(context: ChaosContext, participants: readonly Participant[]) {
  const store = connect(`mqtt://127.0.0.1:${context.addresses[0]?.port}`, { clientId: 'judge' })
  await Promise.all(
    context.keys.map(async (key, number) => {
      const value = uniqueValue('judge.0', number, 0)
      const { version } = await store.key(key, text).set(value)
      context.recorder.write([
        'write',
        'judge',
        'SET',
        key,
        nameOf(value),
        'applied',
        version?.toString(),
        false,
        now(),
      ])
    }),
  )
  await store.close()
  return converge(context, participants)
}
