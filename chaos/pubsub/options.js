import { parseArgs } from 'node:util'

/**
 * @typedef {object} Options
 * @property {number} duration - ms in which things go wrong
 * @property {number} seed
 * @property {number} clients
 * @property {number} groups
 * @property {number} stress - how much faster than usual everything happens
 */

const USAGE = 'npm run chaos:pubsub -- [--minutes 1] [--seed 7] [--clients 20] [--groups 10] [--stress 1]'

/** @returns {Options} */
export function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  const { values } = parseArgs({ options: { minutes: text, seed: text, clients: text, groups: text, stress: text } })
  const { minutes, seed, clients, groups, stress } = values
  return {
    duration: positive(minutes ?? '1') * 60_000,
    seed: seed === undefined ? Date.now() % 1_000_000 : Math.floor(positive(seed)),
    clients: Math.ceil(positive(clients ?? '20')),
    groups: Math.ceil(positive(groups ?? '10')),
    stress: positive(stress ?? '1'),
  }
}

/** @param {string} text */
function positive(text) {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new TypeError(`Expected a positive number, got \`${text}\`\n${USAGE}`)
}
