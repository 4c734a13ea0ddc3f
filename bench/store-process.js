// Runs a store, optionally of another checkout, as a separate process, so that client and store use different cores.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [directory = '', data = ''] = process.argv.slice(2)
const entry = directory === '' ? 'rx-statestore/server' : pathToFileURL(resolve(directory, 'dist/server/index.js')).href
/** @type {typeof import('rx-statestore/server')} */
const { serve } = await import(entry)

const store = await serve({ port: 0, wsPort: 0, maxKeys: 2_000_000, ...(data !== '' && { data }) })

/**
 * Returns the used memory, bytes. Collects garbage twice, because finalizers release memory for the second collection.
 */
function usedBytes() {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @param {object} request */
function handle(request) {
  if ('cut' in request) return store.cut(String(request.cut))
  if ('type' in request && request.type === 'heap') return usedBytes()
  if ('type' in request && request.type === 'peak') return 1024 * process.resourceUsage().maxRSS
  return { ...store.stats }
}

process.on('message', request => process.send?.(handle(Object(request))))
process.on('disconnect', () => void store.close())
process.send?.(store.url)
