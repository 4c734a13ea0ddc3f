// A store in a process of its own, so that client and store have a core each; of another checkout if one is given.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [directory = '', data = ''] = process.argv.slice(2)
const entry = directory === '' ? 'rx-statestore/server' : pathToFileURL(resolve(directory, 'dist/server/index.js')).href
/** @type {typeof import('rx-statestore/server')} */
const { serve } = await import(entry)

const store = await serve({ port: 0, wsPort: 0, maxKeys: 2_000_000, ...(data !== '' && { data }) })

/** Collects twice: what finalizers let go of is gone only then. */
function heldBytes() {
  globalThis.gc?.()
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @param {object} question */
function answer(question) {
  if ('cut' in question) return store.cut(String(question.cut))
  if ('type' in question && question.type === 'heap') return heldBytes()
  if ('type' in question && question.type === 'most') return 1024 * process.resourceUsage().maxRSS
  return { ...store.stats }
}

process.on('message', question => process.send?.(answer(Object(question))))
process.on('disconnect', () => void store.close())
process.send?.(store.url)
