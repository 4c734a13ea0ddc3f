import { ALLOWED } from './allowed.js'
import { BOUNDS } from './bounds.js'
import { ROWS } from './rows.js'

export const BEGIN = '<!-- sweep: begin -->'
export const END = '<!-- sweep: end -->'

const BOUND_WORDS = { step: 'step', cpu: 'CPU time', held: 'memory' } as const

/** Returns the name of a row without the size of its field. */
const kindOf = (name: string): string => name.replace(/: [^:]*$/, '')

/** Returns the part of docs/internals/attacks.md that lists the rows of the sweep and the bounds that they may exceed. */
export function documentedSweep(): string {
  const kinds = new Map<string, string[]>()
  for (const { name } of ROWS) {
    const excesses = ALLOWED.filter(({ rows }) => rows.test(name)).map(
      ({ bound, share, reason }) => `${BOUND_WORDS[bound]} up to ${share} times: ${reason}`,
    )
    const known = kinds.get(kindOf(name)) ?? []
    kinds.set(kindOf(name), Array.from(new Set([...known, ...excesses])))
  }
  const lines = Array.from(
    kinds,
    ([kind, excesses]) =>
      `| ${kind.replaceAll('|', '\\|').replaceAll('*', '\\*')} | ${excesses.join('; ') || 'within'} |`,
  )
  return [
    BEGIN,
    `The bounds are ${BOUNDS.stepMs} ms for the longest step, ${BOUNDS.cpuMsPerFrame} ms of CPU time for each frame and ${1_000 * BOUNDS.cpuMsPerByte} µs for each byte, and ${BOUNDS.heldPerFrame} held bytes for each frame and ${BOUNDS.heldPerByte} for each byte.`,
    '',
    '| attack | bounds |',
    '| --- | --- |',
    ...lines,
    END,
  ].join('\n')
}

/** Returns a document with the current part, or throws if its markers are missing. */
export function withSweep(text: string): string {
  const [before, rest] = text.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error(`Expected the markers ${BEGIN} and ${END}`)
  return before + documentedSweep() + after
}
