'use client'

export type { KeySnapshot } from './key-snapshot.js'
export type { KeysSnapshot } from './keys-snapshot.js'
export { useKey } from './use-key.js'
export { useKeys } from './use-keys.js'
export { useStatus } from './use-status.js'
