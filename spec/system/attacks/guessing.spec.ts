import { expect, it } from 'vitest'
import { as } from '../../support/backwards.js'
import { connect } from '../../support/packets.js'
import { SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const [CONNACK, ACCEPTED, RATE] = [0x20, 0, 0x9f]
/** The number of concurrent attempts, which are repeated after the first rejections. */
const GUESSES = 300

it('Password guesses do not delay users who have logged in from the same address before', async () => {
  const scene = await openScene({ policy: SOME_RIGHTS })
  await scene.runAttack(
    async () => {
      const reasonCodes: (number | undefined)[] = []
      const login = async (username: string, password: string): Promise<void> => {
        const attacker = await scene.connect(connect(`guess-${reasonCodes.length}`, { username, password }))
        expect(attacker.last[0]).toBe(CONNACK)
        reasonCodes.push(attacker.last[3])
        attacker.hangUp()
      }
      const guess = async (): Promise<unknown> =>
        Promise.all(Array.from({ length: GUESSES }, async (_, n) => login(`user-${n}`, 'guess')))
      await guess()
      await guess()
      expect(reasonCodes.at(-1)).toBe(RATE)
      const { username, password } = as('innocent')
      await login(username, password)
      expect(reasonCodes.at(-1)).toBe(ACCEPTED)
      await login(as('mallory').username, as('mallory').password)
      expect(reasonCodes.at(-1)).toBe(RATE)
    },
    { mustComplete: true },
  )
})
