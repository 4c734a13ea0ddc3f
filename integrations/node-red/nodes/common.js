/** @import { Codec, StateStore } from 'rx-statestore' with { 'resolution-mode': 'import' } */
/** @import { Message, Red, RedNode, Settings, StoreNode } from './node-red.js' */

/** The codecs by their names in the editor, shared so that nodes of one key share its watch. */
const codecs = import('rx-statestore').then(({ boolean, bytes, json, number, text }) => {
  /** @type {Codec<unknown>} */
  const buffer = { encode: value => bytes.encode(/** @type {Uint8Array} */ (value)), decode: Buffer.from }
  /** @type {ReadonlyMap<unknown, Codec<unknown>>} */
  const byName = new Map(Object.entries({ json: json(), text, number, boolean, buffer }))
  return byName
})

/**
 * Registers a type of nodes. Invalid settings are shown at the node, and are the error of every message to it.
 *
 * @param {Red} RED
 * @param {string} type
 * @param {(node: StoreNode, settings: Settings) => void} start
 * @param {object} [options]
 */
function register(RED, type, start, options) {
  /** @this {StoreNode} @param {Settings} settings */
  function Constructor(settings) {
    RED.nodes.createNode(this, settings)
    try {
      start(this, settings)
    } catch (error) {
      fail(this, error)
      this.on('input', (_msg, _send, done) => done(error))
    }
  }
  RED.nodes.registerType(type, Constructor, options)
}

/**
 * The connection of the chosen config node, which all of its nodes share. Throws when none is chosen, or its settings are wrong.
 *
 * @param {Red} RED
 * @param {Settings} settings
 */
function storeOf(RED, settings) {
  const open = RED.nodes.getNode(settings['store'])?.open
  if (open === undefined) throw new Error('No state store is chosen: open the node and choose one')
  return open()
}

/** @param {ReadonlyMap<unknown, Codec<unknown>>} byName @param {Settings} settings */
function codecOf(byName, { codec }) {
  const found = byName.get(codec)
  if (found === undefined) throw new Error(`Expected values to be ${[...byName.keys()].join(', ')}, got ${codec}`)
  return found
}

/** The key of a node that has no messages to take it from. @param {Settings} settings */
function ownKey({ key }) {
  if (typeof key !== 'string' || key === '') throw new Error('No key is given: open the node and enter one')
  return key
}

/** The node's key, or else the message's topic. @param {Settings} settings @param {Message} msg */
function keyFor({ key }, { topic }) {
  if (typeof key === 'string' && key !== '') return key
  if (typeof topic === 'string' && topic !== '') return topic
  throw new Error('No key is given: enter one in the node, or set msg.topic')
}

/**
 * A time of the editor or of a message; nothing entered is `undefined`.
 *
 * @param {string} name
 * @param {unknown} value - ms
 */
function timeOf(name, value) {
  if (value === undefined || value === '') return undefined
  const time = Number(value)
  if (Number.isSafeInteger(time) && time > 0) return time
  throw new Error(`Expected ${name} to be a whole number of ms above 0, got ${value}`)
}

/** @param {RedNode} node @param {unknown} error @param {Message} [msg] */
function fail(node, error, msg) {
  node.status({ fill: 'red', shape: 'ring', text: error instanceof Error ? error.message : String(error) })
  node.error(error, msg)
}

/**
 * Sends a request for each message. Closing the node waits for requests in flight, so that the outcome of a write is
 * reported.
 *
 * @param {RedNode} node
 * @param {StateStore} store
 * @param {(msg: Message) => Promise<readonly (Message | null)[]>} answer
 */
function answerMessages(node, store, answer) {
  /** @type {Set<Promise<void>>} */
  const underWay = new Set()
  const connection = showConnection(node, store)
  node.on('input', (msg, send, done) => {
    const answered = answer(msg)
      .then(send)
      .then(() => done(), done)
      .finally(() => underWay.delete(answered))
    underWay.add(answered)
  })
  node.on('close', (_removed, done) => {
    connection.unsubscribe()
    Promise.all(underWay).then(() => done(), done)
  })
}

/** @param {RedNode} node @param {StateStore} store */
function showConnection(node, store) {
  return store.status$.subscribe(status => {
    if (status.state === 'connected') node.status({ fill: 'green', shape: 'dot', text: 'connected' })
    else if (status.state === 'closed')
      node.status({ fill: 'red', shape: 'ring', text: status.cause?.message ?? 'closed' })
    else node.status({ fill: 'yellow', shape: 'ring', text: status.state })
  })
}

module.exports = { answerMessages, codecOf, codecs, fail, keyFor, ownKey, register, storeOf, timeOf }
