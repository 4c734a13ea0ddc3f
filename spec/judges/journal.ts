import { nameOf } from './values.js'

/**
 * A write that reached a store. In a shared log, it was applied between `earliest` and `at`. Times are in monotonic ms.
 */
export interface JournalledWrite {
  readonly type: 'write'
  readonly at: number
  readonly earliest?: number
  readonly client: string
  readonly verb: 'SET' | 'DEL' | 'VDEL'
  readonly key: string
  readonly value: string
  readonly condition: 'NX' | 'NEX' | undefined
  readonly expires: boolean
  readonly outcome: string
  /** Whether the store only repeated its earlier response. */
  readonly isRepeated: boolean
  /** The version of an applied SET. */
  readonly version: string | undefined
}

/** A key that was deleted or has expired. The line of a deletion follows the line of the write. */
export interface JournalledEnd {
  readonly type: 'deleted' | 'expired'
  readonly at: number
  readonly earliest?: number
  readonly key: string
  readonly version: string
}

export interface RecoveredKey {
  readonly key: string
  readonly value: string
  readonly version: string
  readonly expires: boolean
}

/** The keys with which a store starts. */
export interface RecoveredKeys {
  readonly type: 'recovered'
  readonly at: number
  readonly keys: readonly RecoveredKey[]
}

export type JournalLine = JournalledWrite | JournalledEnd | RecoveredKeys

/** Converts a request to a line of a journal, or returns `undefined` if the request is not a write. */
export function toJournalledWrite(
  request: {
    readonly clientId: string
    readonly payload: Uint8Array
    readonly outcome: string
    readonly repeated: boolean
  },
  at: number,
  versionOf: (key: string) => string | undefined,
): JournalledWrite | undefined {
  const [verb, key = '', value, ...rest] = wordsOf(request.payload)
  if (verb !== 'SET' && verb !== 'DEL' && verb !== 'VDEL') return undefined
  return {
    type: 'write',
    at,
    client: request.clientId,
    verb,
    key,
    value: value === undefined ? '' : nameOf(value),
    condition: rest.find(word => word === 'NX' || word === 'NEX'),
    expires: rest.includes('PX'),
    outcome: request.outcome,
    isRepeated: request.repeated,
    version: verb === 'SET' && request.outcome === 'ok' ? versionOf(key) : undefined,
  }
}

/** Returns the words of a RESP3 command, whose keys and values contain no line breaks. Every other line is a word. */
const wordsOf = (payload: Uint8Array): string[] =>
  Buffer.from(payload)
    .toString()
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0)
