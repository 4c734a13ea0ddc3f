import { connect, text } from 'rx-statestore'
import { converge } from '../settle.js'
import { nameOf, uniqueValue } from '../values.js'

/**
 * Beside a broker of others nobody can say exactly which registrations there should be: those of clients that are gone end
 * with the next change. So every key is changed once more, and whoever watches it has to hear of that.
 *
 * @param {import('../participant.js').World} world
 * @param {readonly import('../participant.js').Participant[]} participants
 */
export async function judgeHearing(world, participants) {
  const store = connect(`mqtt://127.0.0.1:${world.places[0]?.port}`, { clientId: 'judge' })
  await Promise.all(
    world.keys.map(async (key, number) => {
      const value = uniqueValue('judge.0', number, 0)
      const { version } = await store.key(key, text).set(value)
      world.recorder.write(['write', 'judge', 'SET', key, nameOf(value), 'applied', version, false])
    }),
  )
  await store.close()
  return converge(world, participants)
}
