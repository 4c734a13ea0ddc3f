import { type OptionTable, text, texts, toggle } from '../core/util/options.js'
import { SERVE_OPTIONS } from '../server/host/options.js'
import { QUOTAS } from '../server/host/quotas.js'
import { STORAGE_OPTIONS } from '../server/storage/storage-options.js'
import { CONSOLE } from './console-flags.js'
import { EVENT_LOG } from './event-log.js'
import type { OptionSection } from './flags.js'
import { LOG, LOG_GROUP } from './log-flags.js'
import { METRICS } from './metrics-flags.js'
import { SECURITY, SECURITY_GROUP } from './serve-security.js'

/** Options that only the console of a store with a broker has. */
export const CONSOLE_FAULTS = {
  faults: {
    kind: toggle,
    help: 'the console can also freeze and restart the store and disconnect clients, to test applications',
  },
} satisfies OptionTable

const START = {
  wsUrl: {
    kind: text('<url>'),
    help: 'public WebSocket address of the broker behind that proxy, such as wss://panel.example/mqtt',
  },
  allowedOrigin: {
    kind: texts('<origin>', 'a list of origins'),
    help: 'origin of pages that may connect over WebSocket, such as https://panel.example; repeatable',
  },
  seed: { kind: text('<file>'), help: 'JSON file of initial keys' },
} satisfies OptionTable

const QUOTA_GROUP = 'Limits (anonymous clients of one address count as one principal):'

/** All options of `serve`, from which the flags, help, variables, the settings file and its schema are made. */
export const SERVE_SECTIONS: readonly OptionSection[] = [
  { table: SERVE_OPTIONS },
  { table: STORAGE_OPTIONS },
  { table: CONSOLE },
  { table: CONSOLE_FAULTS },
  { table: METRICS },
  { table: START },
  { table: SECURITY, group: SECURITY_GROUP },
  { table: QUOTAS, group: QUOTA_GROUP },
  { table: LOG, group: LOG_GROUP },
  { table: EVENT_LOG, group: 'Messages:' },
]
