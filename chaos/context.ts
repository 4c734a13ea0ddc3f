import type { StateStore } from 'rx-statestore'
import type { Violations } from '../harness/judges/violations.js'
import type { Recorder } from './recorder.js'
import type { Ports } from './store-ports.js'
import type { Tally } from './tally.js'

export interface ChaosContext {
  keys: readonly string[]
  /** The ports of the store or of its nodes. */
  addresses: readonly Ports[]
  recorder: Recorder
  violations: Violations
  tally: Tally
  /** codes of errors with which the broker is reachable but the store is not */
  unavailableCodes: readonly string[]
  /** codes of other reported errors that are not faults of the library */
  expectedCodes: readonly string[]
  /** whether the store is attached to another broker, and can restart while the connection lasts */
  isAttached?: boolean
}

/** The client of a participant, as its activities see it. */
export interface ChaosClient {
  readonly name: string
  readonly incarnation: number
  readonly store: StateStore
  readonly lostConnections: number
  readonly connectedAt: number
  readonly reportedErrors: number
  readonly description: string
}
