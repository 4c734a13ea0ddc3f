import { nameOf } from './values.js'

/** Whether clients record every request for a key. */
export const isRecorded = (key: string): boolean => key.startsWith('chaos/')

/** What a store holds for a key beside its value. */
export interface KeyRecord {
  readonly version: string
  /** The expiry in ms since the Unix epoch. */
  readonly expiresAt?: number | undefined
  readonly fencingToken?: string | undefined
}

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
  readonly outcome: string
  /** Whether the store only repeated its earlier response. */
  readonly isRepeated: boolean
  /** The record of the key after an applied SET. */
  readonly record: KeyRecord | undefined
}

/** A key that was deleted or has expired. The line of a deletion follows the line of the write. */
export interface JournalledEnd {
  readonly type: 'deleted' | 'expired'
  readonly at: number
  readonly earliest?: number
  /** The time of the store's clock in ms since the Unix epoch. */
  readonly time: number
  readonly key: string
  readonly version: string
}

export interface RecoveredKey extends KeyRecord {
  readonly key: string
  readonly value: string
}

/** The keys with which a store starts. */
export interface RecoveredKeys {
  readonly type: 'recovered'
  readonly at: number
  /** The time of the store's clock in ms since the Unix epoch. */
  readonly time: number
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
  recordOf: (key: string) => KeyRecord,
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
    outcome: request.outcome,
    isRepeated: request.repeated,
    record: verb === 'SET' && request.outcome === 'ok' ? recordOf(key) : undefined,
  }
}

/** Returns the words of a RESP3 command, whose keys and values contain no line breaks. Every other line is a word. */
const wordsOf = (payload: Uint8Array): string[] =>
  Buffer.from(payload)
    .toString()
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0)
