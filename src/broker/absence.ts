import type { Deadline } from '../base/deadlines.js'
import type { Will } from '../packet/packets.js'
import type { Connection } from './connection.js'

/** A session whose client is away. */
export interface Absence {
  readonly expiry: Deadline<() => void>
  /** To be published unless the client comes back in time (MQTT 5.0, section 3.1.3.2.2). */
  readonly will:
    | { readonly connection: Connection; readonly message: Will; readonly due: Deadline<() => void> }
    | undefined
}
