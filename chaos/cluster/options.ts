import { parseArgs } from 'node:util'

export interface Options {
  /** ms in which things go wrong */
  duration: number
  seed: number
  keys: number
  clients: number
  /** how much faster than usual everything happens */
  stress: number
}

const USAGE = 'npm run chaos:cluster -- [--minutes 1 | --seconds 20] [--seed 7] [--keys 60] [--clients 8] [--stress 1]'

export function readOptions(): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    options: { minutes: text, seconds: text, seed: text, keys: text, clients: text, stress: text },
  })
  const { minutes, seconds, seed, keys, clients, stress } = values
  return {
    duration: seconds === undefined ? positive(minutes ?? '1') * 60_000 : positive(seconds) * 1000,
    seed: seed === undefined ? Date.now() % 1_000_000 : Math.floor(positive(seed)),
    keys: Math.ceil(positive(keys ?? '60')),
    clients: Math.ceil(positive(clients ?? '8')),
    stress: positive(stress ?? '1'),
  }
}

function positive(text: string) {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new TypeError(`Expected a positive number, got \`${text}\`\n${USAGE}`)
}
