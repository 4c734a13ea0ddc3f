const { fail, ownKey, register, storeOf, timeOf } = require('./common.js')

/** @import { LeaseState } from 'rx-statestore/lease' with { 'resolution-mode': 'import' } */
/** @param {import('./node-red.js').Red} RED */
module.exports = async RED => {
  const { lease } = await import('rx-statestore/lease')

  register(RED, 'state lock', (node, settings) => {
    const key = ownKey(settings)
    const duration = timeOf('the duration', settings['duration'])
    if (duration === undefined)
      throw new Error('No duration is given: enter the time in ms after which a silent holder loses the lock')
    const candidate = lease(storeOf(RED, settings), key, { duration })
    /** @type {Extract<LeaseState, { status: 'held' }> | undefined} */
    let held
    /** @type {import('rxjs', { with: { 'resolution-mode': 'import' } }).Subscription | undefined} */
    let subscription

    function acquire() {
      if (held) sendHeld(held)
      else if (subscription === undefined || subscription.closed) subscription = subscribe()
    }

    function subscribe() {
      node.status({ fill: 'yellow', shape: 'ring', text: 'acquiring' })
      return candidate.subscribe({
        next: follow,
        error: error => {
          lose('lost')
          fail(node, error, { topic: key })
        },
        complete: () => lose('lost'),
      })
    }

    /** @param {LeaseState} state */
    function follow(state) {
      if (state.status === 'waiting')
        node.status({ fill: 'yellow', shape: 'ring', text: `waiting for ${state.holder}` })
      else if (state.status === 'lost') lose('lost', state.cause.reason)
      else {
        const isRenewed = held !== undefined
        held = state
        if (!isRenewed) sendHeld(state)
      }
    }

    /** @param {Extract<LeaseState, { status: 'held' }>} state */
    function sendHeld({ token, holder }) {
      node.status({ fill: 'green', shape: 'dot', text: 'held' })
      node.send([{ topic: key, payload: 'held', fencingToken: String(token), holder }, null])
    }

    /** @param {'lost' | 'released'} payload @param {string} [reason] */
    function lose(payload, reason) {
      node.status({ fill: payload === 'lost' ? 'red' : 'grey', shape: 'ring', text: payload })
      if (held === undefined) return
      const fencingToken = String(held.token)
      held = undefined
      node.send([null, { topic: key, payload, fencingToken, ...(reason !== undefined && { reason }) }])
    }

    node.on('input', ({ action }, _send, done) => {
      if (action !== 'acquire' && action !== 'release') {
        done(new Error(`Expected msg.action to be acquire or release, got ${action}`))
        return
      }
      if (action === 'acquire') acquire()
      else {
        subscription?.unsubscribe()
        lose('released')
      }
      done()
    })

    node.on('close', (_removed, done) => {
      subscription?.unsubscribe()
      done()
    })

    if (settings['auto']) acquire()
  })
}
