import type { ServePubSubOptions } from '../../src/pubsub/hub/index.js'
import type { ServeOptions } from '../../src/server/index.js'
import type { Measurement } from './meter.js'

/** The options of the measured server, which cross a process boundary. */
export interface ServerSettings {
  readonly store?: Omit<ServeOptions, 'authenticate' | 'clock' | 'warn' | 'log'>
  readonly hasHub?: boolean
  readonly hub?: Omit<ServePubSubOptions, 'authenticate' | 'clock' | 'server'>
}

export interface ServerAddresses {
  readonly mqtt: string
  readonly ws: string
  /** Empty without a hub. */
  readonly hub: string
}

/** The questions to the measured process, with the types of their answers. */
export interface Answers {
  /** Begins a measurement. */
  begin: undefined
  end: Measurement
  /** The CPU time of the reference workload, in ms. */
  reference: number
  /** The errors that the server has reported since the last question. */
  faults: readonly string[]
}

export type Question = keyof Answers
