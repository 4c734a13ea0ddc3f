'use client'

export type { KeySnapshot } from './use-key.js'
export { useKey } from './use-key.js'
export type { KeysSnapshot } from './use-keys.js'
export { useKeys } from './use-keys.js'
export { useStatus } from './use-status.js'
