import type { Scene } from './scene.js'
import type { StateName } from './states.js'

/** One attack: a frame with a field at some size, or a sequence of frames. */
export interface Row {
  /** Unique, such as `PUBLISH: topic of 65,535 bytes`. */
  readonly name: string
  /** The number of rounds in a measurement. */
  readonly rounds: number
  /** The state that the attack meets. */
  readonly state: StateName
  /** Whether the first round changes the state for good, so that only it counts. */
  readonly isOnce?: boolean
  /** Opens connections, and returns the function that performs one round and resolves when the server has answered. */
  start(scene: Scene): Promise<(round: number) => Promise<void>>
}
