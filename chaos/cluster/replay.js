import { appendFileSync, writeFileSync } from 'node:fs'
import { Engine } from '../../dist/server/engine/engine.js'
import { entryOf, Replica } from '../../dist/server/log/cluster/replica.js'
import { recordOf } from '../journal.js'
import { recordsOf } from '../recorder.js'

/**
 * What the log of several nodes comes to.
 *
 * @typedef {object} Replayed
 * @property {number} messages
 * @property {number} requests - how many writes are in it
 * @property {ReadonlySet<string>} versions - of all changes
 */

/**
 * @typedef {object} Evidence
 * @property {string} log - file with the messages, as {@link import('./audit.js').Audit} writes it
 * @property {string} journal - file to write: what a single store would have noted
 * @property {string} prefix - of the keys of which that is wanted
 * @property {ReadonlyMap<string, number>} answered - when somebody knew of a version for the first time, monotonic ms
 * @property {number} epoch - wall time when the monotonic clock was 0, ms
 * @property {import('../complaints.js').Complaints} complaints
 */

const LINES = 1_000

/**
 * Applies the log once more, by the rules of the nodes, and writes down what a store that is alone would have noted. When a
 * change was committed lies between the time that its message has, and the first answer to anything that is not before it.
 *
 * @param {Evidence} evidence
 * @returns {Promise<Replayed>}
 */
export async function replay({ log, journal, prefix, answered, epoch, complaints }) {
  /** @type {{ position: number, record: unknown[] | undefined, from: number }[]} */
  const noted = []
  /** When messages were committed at the latest. @type {number[]} */
  const latest = []
  const versions = new Set()
  /** @type {Map<string, { wallClock: number, counter: number, text: string }>} */
  const tokens = new Map()
  let requests = 0
  const replica = new Replica()
  const engine = new Engine({ witness: applier => replica.digest.seeing(applier) })
  for await (const [position, time, text] of recordsOf(log)) {
    const from = time - epoch - 1
    latest[position] = Number.POSITIVE_INFINITY
    const judged = replica.judge({ position, time, bytes: new Uint8Array(Buffer.from(text, 'base64')) })
    if (judged.type === 'foreign') complaints.add('audit', `message ${position} is none of a node`)
    if (judged.type === 'entry') apply(entryOf(judged.body, judged.time), position, from)
    replica.close(position)
  }
  writeJournal(journal, noted, latest)
  return { messages: latest.length, requests, versions }

  /**
   * @param {import('../../dist/server/engine/entry.js').Entry} entry
   * @param {number} position
   * @param {number} from
   */
  function apply(entry, position, from) {
    engine.apply(entry, {
      expired: changes => {
        for (const { key } of changes) {
          const name = Buffer.from(key).toString()
          if (name.startsWith(prefix)) noted.push({ position, record: ['expired', 0, name], from })
        }
      },
      answered: (at, { reply, version, repeated: isRepeated = false, changes }) => {
        const write = entry.commands[at]
        if (write?.type !== 'write' || write.origin === undefined) return
        requests++
        for (const change of changes) {
          versions.add(String(change.version))
          latest[position] = Math.min(
            latest[position] ?? 0,
            answered.get(String(change.version)) ?? Number.POSITIVE_INFINITY,
          )
        }
        const key = Buffer.from(write.command.key).toString()
        if (changes.length > 0 && version !== undefined) fenced(key, write.fencingToken)
        if (!key.startsWith(prefix)) return
        const { clientId } = write.origin
        const request = { clientId, payload: write.payload, outcome: reply.type, repeated: isRepeated }
        noted.push({ position, record: recordOf(request, 0), from })
      },
      loaded: () => undefined,
    })
  }

  /**
   * No write is taken with a token that is older than one before.
   *
   * @param {string} key
   * @param {string | undefined} text
   */
  function fenced(key, text) {
    const before = tokens.get(key)
    if (text === undefined) {
      if (before !== undefined) complaints.add('fencing', `${key} was written without a token after ${before.text}`)
      return
    }
    const [wallClock = 0, counter = 0] = text.split(':').map(Number)
    const isOlder = before && (wallClock - before.wallClock || counter - before.counter) < 0
    if (isOlder) complaints.add('fencing', `${key} was written with the token ${text} after ${before.text}`)
    tokens.set(key, { wallClock, counter, text })
  }
}

/**
 * @param {string} path
 * @param {readonly { position: number, record: unknown[] | undefined, from: number }[]} noted
 * @param {number[]} latest - by position; of each the earliest of what is behind it counts
 */
function writeJournal(path, noted, latest) {
  for (let at = latest.length - 2; at >= 0; at--)
    latest[at] = Math.min(latest[at] ?? Number.POSITIVE_INFINITY, latest[at + 1] ?? Number.POSITIVE_INFINITY)
  writeFileSync(path, '')
  for (let begin = 0; begin < noted.length; begin += LINES) {
    const lines = noted.slice(begin, begin + LINES).flatMap(({ position, record, from }) => {
      if (record === undefined) return []
      const [type, , ...rest] = record
      // JSON has no infinity.
      const at = Math.min(latest[position] ?? Number.MAX_VALUE, Number.MAX_VALUE)
      return [`${JSON.stringify([type, at, ...rest, from])}\n`]
    })
    appendFileSync(path, lines.join(''))
  }
}
