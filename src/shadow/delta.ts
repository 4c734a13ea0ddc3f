import type { Hlc } from '../hlc/hlc.js'

/** What a device has to do. */
export interface Delta<T> {
  /** Fields, with what they are to be; empty when there is nothing to do. */
  readonly delta: Partial<T>
  /** Version of the wish. */
  readonly version: Hlc | undefined
}
