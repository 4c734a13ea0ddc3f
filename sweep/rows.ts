import { MQTT3_ROWS } from './rows/mqtt3.js'
import { MQTT5_ROWS } from './rows/mqtt5.js'
import { REQUEST_ROWS } from './rows/requests.js'
import { STATE_ROWS } from './rows/states-met.js'
import type { Row } from './scene/row.js'

/** All attacks of the sweep. */
export const ROWS: readonly Row[] = [...MQTT5_ROWS, ...MQTT3_ROWS, ...REQUEST_ROWS, ...STATE_ROWS]
