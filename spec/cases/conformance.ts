import type { ConformanceCases } from './case.js'
import { CONDITIONS } from './conditions.js'
import { ERRORS } from './errors.js'
import { EXPIRY } from './expiry.js'
import { FENCING } from './fencing.js'
import { GLOBS } from './globs.js'
import { NOTIFICATIONS } from './notifications.js'
import { SCAN } from './scan.js'
import { VALUES } from './values.js'
import { VERSIONS } from './versions.js'

/**
 * The required behaviour of a state store as data for every kind of store: sections 2 to 6 of the protocol page, and
 * this store's extensions.
 */
export const CONFORMANCE: Readonly<Record<string, ConformanceCases>> = {
  values: VALUES,
  'NX and NEX': CONDITIONS,
  'time to live': EXPIRY,
  versions: VERSIONS,
  'fencing tokens': FENCING,
  notifications: NOTIFICATIONS,
  'watched globs': GLOBS,
  scan: SCAN,
  errors: ERRORS,
}
