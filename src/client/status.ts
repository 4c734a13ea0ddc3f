import type { StateStoreError } from '../base/errors.js'

/** State of the connection to the broker. */
export type Status =
  | { readonly state: 'connecting' }
  | {
      readonly state: 'connected'
      /** Watched keys. */
      readonly keys: number
      /** Those whose value has been read on this connection; the others are being read again. */
      readonly synced: number
    }
  | {
      readonly state: 'reconnecting'
      /** Why the connection was lost, or why the last attempt failed. */
      readonly cause: StateStoreError
      /** 1 for the first attempt; missing when somebody else's MqttClient decides. */
      readonly attempt: number | undefined
      /** Wall time of that attempt, ms since the Unix epoch. */
      readonly retryAt: number | undefined
    }
  | {
      readonly state: 'closed'
      /** Missing when closed on purpose. */
      readonly cause: StateStoreError | undefined
    }
