import type { StateStoreError } from '../../core/util/errors.js'

/** How a bridge of retained topics fares. */
export type RetainedStatus =
  /** Connecting for the first time, or reading what is retained. */
  | { readonly state: 'connecting' }
  /** All that was retained has been heard. */
  | { readonly state: 'live' }
  /** The broker of the topics is away. */
  | { readonly state: 'reconnecting'; readonly cause: StateStoreError }
  /** Over; `cause` if not by `close()`. */
  | { readonly state: 'closed'; readonly cause: StateStoreError | undefined }

/** What a bridge has done so far. */
export interface RetainedStats {
  /** Topics that are known. */
  readonly topics: number
  /** Keys written or deleted. */
  readonly written: number
  /** Messages published. */
  readonly published: number
}

/** What a carrier tells. */
export interface CarrierEvents {
  status(status: RetainedStatus): void
  failed(error: StateStoreError): void
}
