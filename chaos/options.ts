import { parseArgs } from 'node:util'

export interface Options {
  /** ms in which things go wrong */
  duration: number
  seed: number
  keys: number
  clients: number
  /** how much faster than usual everything happens */
  stress: number
  /** whether the store has a directory, and keeps its keys when it is killed */
  data: boolean
  /** whether the store is a service beside Mosquitto; it has a directory then */
  mosquitto: boolean
}

const USAGE =
  'npm run chaos -- [--minutes 1 | --seconds 20] [--seed 7] [--keys 200] [--clients 8] [--stress 1] [--data | --mosquitto]'

export function readOptions(): Options {
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

function positive(text: string) {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new TypeError(`Expected a positive number, got \`${text}\`\n${USAGE}`)
}
