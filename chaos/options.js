import { parseArgs } from 'node:util'

/**
 * @typedef {object} Options
 * @property {number} duration - ms in which things go wrong
 * @property {number} seed
 * @property {number} keys
 * @property {number} clients
 * @property {number} stress - how much faster than usual everything happens
 * @property {boolean} data - whether the store has a directory, and keeps its keys when it is killed
 * @property {boolean} mosquitto - whether the store is a service beside Mosquitto; it has a directory then
 */

const USAGE =
  'npm run chaos -- [--minutes 1 | --seconds 20] [--seed 7] [--keys 200] [--clients 8] [--stress 1] [--data | --mosquitto]'

/** @returns {Options} */
export function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      keys: { type: 'string' },
      clients: { type: 'string' },
      stress: { type: 'string' },
      data: { type: 'boolean', default: false },
      mosquitto: { type: 'boolean', default: false },
    },
  })
  const { minutes, seconds, seed, keys, clients, stress, data, mosquitto } = values
  const duration = seconds === undefined ? positive(minutes ?? '1') * 60_000 : positive(seconds) * 1000
  return {
    duration,
    seed: seed === undefined ? Date.now() % 1_000_000 : Math.floor(positive(seed)),
    keys: Math.ceil(positive(keys ?? '200')),
    clients: Math.ceil(positive(clients ?? '8')),
    stress: positive(stress ?? '1'),
    data,
    mosquitto,
  }
}

/** @param {string} text */
function positive(text) {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new TypeError(`Expected a positive number, got \`${text}\`\n${USAGE}`)
}
