/** @import { Codec, StateStore } from 'rx-statestore' with { 'resolution-mode': 'import' } */
/** @import { Message, Red, RedNode, Settings, StoreNode } from './node-red.js' */

/** The codecs by their names in the editor. They are shared, so that the nodes of one key share its watch. */
const codecs = import('rx-statestore').then(({ boolean, bytes, json, number, text }) => {
  /** @type {Codec<unknown>} */
  const buffer = { encode: value => bytes.encode(/** @type {Uint8Array} */ (value)), decode: Buffer.from }
  /** @type {ReadonlyMap<unknown, Codec<unknown>>} */
  const byName = new Map(Object.entries({ json: json(), text, number, boolean, buffer }))
  return byName
})

/**
 * Registers a node type. Invalid settings are shown at the node, and every message to the node fails with their error.
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
 * Returns the connection of the chosen config node, which all nodes that use it share. Throws if no config node is
 * chosen or its settings are invalid.
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

/** Returns the key of a node whose messages do not name a key. @param {Settings} settings */
function ownKey({ key }) {
  if (typeof key !== 'string' || key === '') throw new Error('No key is given: open the node and enter one')
  return key
}

/**
 * Returns the key of the node or, if it has none, the topic of the message.
 *
 * @param {Settings} settings @param {Message} msg
 */
function keyFor({ key }, { topic }) {
  if (typeof key === 'string' && key !== '') return key
  if (typeof topic === 'string' && topic !== '') return topic
  throw new Error('No key is given: enter one in the node, or set msg.topic')
}

/**
 * Parses a time that was entered in the editor or is part of a message. Returns `undefined` if there is none.
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
  const pending = new Set()
  const connection = showConnection(node, store)
  node.on('input', (msg, send, done) => {
    const answered = answer(msg)
      .then(send)
      .then(() => done(), done)
      .finally(() => pending.delete(answered))
    pending.add(answered)
  })
  node.on('close', (_removed, done) => {
    connection.unsubscribe()
    Promise.all(pending).then(() => done(), done)
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
