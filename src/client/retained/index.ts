export type { RetainedOptions } from './options.js'
export { RetainedBridge, retained } from './retained.js'
export type { RetainedStats, RetainedStatus } from './status.js'
