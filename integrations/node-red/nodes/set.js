const { answerMessages, codecOf, codecs, keyFor, register, storeOf, timeOf } = require('./common.js')

const CONDITIONS = ['always', 'ifAbsent', 'ifAbsentOrEqual', 'ifVersion']

/** @param {import('./node-red.js').Red} RED */
module.exports = async RED => {
  const byName = await codecs

  register(RED, 'state set', (node, settings) => {
    const store = storeOf(RED, settings)
    const codec = codecOf(byName, settings)
    const { action, condition } = settings
    if (typeof condition !== 'string' || !CONDITIONS.includes(condition))
      throw new Error(`Expected the condition to be ${CONDITIONS.join(', ')}, got ${condition}`)
    if (action !== 'set' && action !== 'delete') throw new Error(`Expected to set or to delete, got ${action}`)
    const expiresIn = timeOf('the time to live', settings['expiresIn'])

    answerMessages(node, store, async msg => {
      const key = keyFor(settings, msg)
      const token = tokenOf(msg)
      const { applied, version } =
        action === 'delete'
          ? await store.delete(key, token).then(({ deleted, version }) => ({ applied: deleted, version }))
          : await store.set(key, msg.payload, codec, {
              ...token,
              ...conditionOf(condition, msg),
              ...timeToLive(timeOf('msg.expiresIn', msg.expiresIn) ?? expiresIn),
            })
      Object.assign(msg, { topic: key, applied, version: version && String(version) })
      return applied ? [msg, null] : [null, msg]
    })
  })
}

/** @param {number | undefined} expiresIn */
const timeToLive = expiresIn => (expiresIn === undefined ? {} : { expiresIn })

/** @param {import('./node-red.js').Message} msg */
const tokenOf = ({ fencingToken }) => (fencingToken === undefined ? {} : { fencingToken: String(fencingToken) })

/** @param {string} condition @param {import('./node-red.js').Message} msg */
function conditionOf(condition, { version }) {
  if (condition === 'always') return {}
  if (condition !== 'ifVersion') return { [condition]: true }
  // Without a version the write would be unconditional, the opposite of the request.
  if (version === undefined)
    throw new Error('The message has no version to compare with: set msg.version, as state get does')
  return { ifVersion: String(version) }
}
