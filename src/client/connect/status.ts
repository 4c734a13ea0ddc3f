import type { StateStoreError } from '../../core/util/errors.js'

/**
 * State of the connection to the broker. `url` is its address, or the one that is tried next, without user, password and
 * query; missing over somebody else's MqttClient.
 */
export type Status =
  | { readonly state: 'connecting'; readonly url?: string | undefined }
  | {
      readonly state: 'connected'
      readonly url?: string | undefined
      /** Watched keys. */
      readonly keys: number
      /** Those whose value has been read on this connection; the others are being read again. */
      readonly synced: number
    }
  | {
      readonly state: 'reconnecting'
      readonly url?: string | undefined
      /** Why the connection was lost, or why the last attempt failed. */
      readonly cause: StateStoreError
      /** 1 for the first attempt since a connection held, whatever its address; missing when somebody else's MqttClient decides. */
      readonly attempt: number | undefined
      /** Wall time of that attempt, ms since the Unix epoch. */
      readonly retryAt: number | undefined
    }
  | {
      readonly state: 'closed'
      /** Missing when closed on purpose. */
      readonly cause: StateStoreError | undefined
    }
