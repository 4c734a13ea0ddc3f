'use client'

export type { KeySnapshot } from './key-snapshot.js'
export { useKey } from './use-key.js'
export { useStatus } from './use-status.js'
