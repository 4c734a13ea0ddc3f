import type { Row } from '../scene/row.js'
import type { Scene } from '../scene/scene.js'
import { login, type StateName } from '../scene/states.js'

/** Frames of at least this size are sent less often. */
const LARGE_BYTES = 256 * 1024
const [MANY, FEW] = [20, 4]

/** The smallest, a middle and the greatest legal size of a field, each with what makes it. */
export type Sizes<T> = readonly (readonly [label: string, value: T])[]

interface FrameOptions {
  readonly state?: StateName
  readonly connect?: (clientId: string) => Buffer
  readonly version?: 4 | 5
}

/** Returns a row that sends frames of one kind over one connection, one after another. */
export function frameRow(
  name: string,
  frame: (n: number) => Uint8Array,
  { state = 'empty', connect = login, version = 5 }: FrameOptions = {},
): Row {
  return {
    name,
    state,
    rounds: frame(0).length < LARGE_BYTES ? MANY : FEW,
    start: async scene => {
      const clientId = `attacker-${scene.unique()}`
      let attacker = await scene.connect(connect(clientId))
      return async round => {
        if (attacker.ended) attacker = await scene.connect(connect(clientId))
        await attacker.send(frame(round + 1))
        await attacker.settled(version)
      }
    },
  }
}

/** Returns a row whose frame opens a connection of its own. */
export const loginRow = (name: string, frame: (n: number) => Uint8Array, state: StateName = 'empty'): Row => ({
  name,
  state,
  rounds: frame(0).length < LARGE_BYTES ? MANY : FEW,
  start: async (scene: Scene) => async () => {
    const attacker = await scene.open()
    await attacker.send(frame(scene.unique()))
    await attacker.hears()
    await attacker.settled()
    attacker.hangUp()
  },
})
