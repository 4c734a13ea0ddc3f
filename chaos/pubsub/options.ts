import { parseArgs } from 'node:util'

export interface Options {
  /** ms in which things go wrong */
  duration: number
  seed: number
  clients: number
  groups: number
  /** how much faster than usual everything happens */
  stress: number
}

const USAGE = 'npm run chaos:pubsub -- [--minutes 1] [--seed 7] [--clients 20] [--groups 10] [--stress 1]'

export function readOptions(): Options {
  const text = { type: 'string' } as const
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

function positive(text: string) {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new TypeError(`Expected a positive number, got \`${text}\`\n${USAGE}`)
}
