import { expect, it } from 'vitest'
import { as } from '../../support/backwards.js'
import { connect } from '../../support/packets.js'
import { SOME_RIGHTS } from './support/policies.js'
import { openScene, prepareScenes } from './support/scene.js'

prepareScenes()

const [CONNACK, ACCEPTED, RATE] = [0x20, 0, 0x9f]
/** Concurrent attempts, repeated after the first rejections. */
const GUESSES = 300

it('Password guesses from an address do not delay users that have logged in from there before', async () => {
  const scene = await openScene({ policy: SOME_RIGHTS })
  await scene.under(
    async () => {
      const answers: (number | undefined)[] = []
      const come = async (username: string, password: string): Promise<void> => {
        const attacker = await scene.connect(connect(`guess-${answers.length}`, { username, password }))
        expect(attacker.last[0]).toBe(CONNACK)
        answers.push(attacker.last[3])
        attacker.hangUp()
      }
      const guess = async (): Promise<unknown> =>
        Promise.all(Array.from({ length: GUESSES }, async (_, n) => come(`user-${n}`, 'guess')))
      await guess()
      await guess()
      expect(answers.at(-1)).toBe(RATE)
      const { username, password } = as('innocent')
      await come(username, password)
      expect(answers.at(-1)).toBe(ACCEPTED)
      await come(as('mallory').username, as('mallory').password)
      expect(answers.at(-1)).toBe(RATE)
    },
    { toTheEnd: true, longestAttack: 15_000 },
  )
})
