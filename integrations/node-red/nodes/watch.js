const { codecOf, codecs, fail, ownKey, register, storeOf } = require('./common.js')

/** @param {import('./node-red.js').Red} RED */
module.exports = async RED => {
  const { matching } = await import('rx-statestore/matching')
  const byName = await codecs

  register(RED, 'state watch', (node, settings) => {
    const store = storeOf(RED, settings)
    const codec = codecOf(byName, settings)
    const key = ownKey(settings)
    const watched = settings['kind'] === 'glob' ? matching(store, key, codec) : store.key(key, codec)
    /** @type {string} */
    let freshness = 'connecting'
    let isClosed = false

    const entries = watched.entries$.subscribe({
      // The freshness that an entry causes is emitted immediately after the entry and must be part of its message.
      next: entry => queueMicrotask(() => sendEntry(entry)),
      error: error => fail(node, error, { topic: key }),
    })

    /** @param {import('rx-statestore', { with: { 'resolution-mode': 'import' } }).Entry<unknown>} entry */
    function sendEntry(entry) {
      if (isClosed) return
      const { op, value, version, source } = entry
      const why = entry.op === 'delete' && { reason: entry.reason }
      const properties = { topic: entry.key, payload: value, op, ...why, source, freshness }
      const msg = { ...properties, version: version && String(version) }
      if (op === 'invalid') node.error(entry.error, msg)
      else node.send([msg, null])
    }

    const states = watched.freshness$.subscribe({
      next: state => {
        freshness = state.state
        node.status(statusOf(state))
        node.send([null, { topic: key, payload: state.state, ...('since' in state && { since: state.since }) }])
      },
      // The entries end with the same error.
      error: () => undefined,
    })

    node.on('close', (_removed, done) => {
      isClosed = true
      entries.unsubscribe()
      states.unsubscribe()
      done()
    })
  })
}

/** @param {import('rx-statestore', { with: { 'resolution-mode': 'import' } }).Freshness} freshness */
function statusOf(freshness) {
  if (freshness.state === 'live') return /** @type {const} */ ({ fill: 'green', shape: 'dot', text: 'live' })
  const since = freshness.state === 'stale' ? ` since ${new Date(freshness.since).toLocaleTimeString()}` : ''
  return /** @type {const} */ ({ fill: 'yellow', shape: 'ring', text: `${freshness.state}${since}` })
}
