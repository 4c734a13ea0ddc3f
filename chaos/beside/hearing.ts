import { connect, text } from 'rx-statestore'
import { now } from '../now.js'
import type { Participant, World } from '../participant.js'
import { converge } from '../settle.js'
import { nameOf, uniqueValue } from '../values.js'

/**
 * Beside a broker of others nobody can say exactly which registrations there should be: those of clients that are gone end
 * with the next change. So every key is changed once more, and whoever watches it has to hear of that.
 */
export async function judgeHearing(world: World, participants: readonly Participant[]) {
  const store = connect(`mqtt://127.0.0.1:${world.places[0]?.port}`, { clientId: 'judge' })
  await Promise.all(
    world.keys.map(async (key, number) => {
      const value = uniqueValue('judge.0', number, 0)
      const { version } = await store.key(key, text).set(value)
      world.recorder.write(['write', 'judge', 'SET', key, nameOf(value), 'applied', version?.toString(), false, now()])
    }),
  )
  await store.close()
  return converge(world, participants)
}
