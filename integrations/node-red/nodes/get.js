const { answerMessages, codecOf, codecs, keyFor, register, storeOf } = require('./common.js')

/** @param {import('./node-red.js').Red} RED */
module.exports = async RED => {
  const byName = await codecs

  register(RED, 'state get', (node, settings) => {
    const store = storeOf(RED, settings)
    const codec = codecOf(byName, settings)

    answerMessages(node, store, async msg => {
      const key = keyFor(settings, msg)
      const { op, value, version } = await store.get(key, codec)
      return [Object.assign(msg, { topic: key, payload: value, op, version: version && String(version) })]
    })
  })
}
