'use client'

export { useWritableKey, type Writable, type WritableSnapshot } from './use-writable-key.js'
