import type { ScanCommand } from '../../core/protocol/commands.js'
import type { Glob } from '../../core/protocol/glob.js'
import { CommandError, compileRequestGlob } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import { fromBinaryString, toBinaryString, utf8 } from '../../core/util/bytes.js'
import type { Records } from './records.js'

// These limits of a page ensure that a request neither delays others for long nor exceeds the size that a client can
// receive.
const MAX_PAGE_KEYS = 1_000
const MAX_PAGE_BYTES = 65_536
/** The limit on visited positions, including gaps and keys that do not match. */
const MAX_POSITIONS = 10_000
/** The limit on the matcher's work: key bytes times glob words of 32 states. */
const MAX_WORK = 2 ** 22
const KEY_OVERHEAD_BYTES = 16
const MAX_TOKEN_BYTES = 64

/** A page, and the work spent on it: the bytes of compared keys times the words of the globs. */
export interface ScanResult {
  readonly reply: Extract<Reply, { type: 'page' }>
  readonly work: number
}

/** The remaining range of a scan, in numbers of {@link KeyOrder}. */
interface ScanRange {
  readonly from: number
  readonly to: number
}

/**
 * Returns a page of a scan. Keys are binary strings. The store keeps no state for a scan: the scan's token holds the
 * position to resume from and the newest key when the scan started. So every scan ends, and lists no keys created after
 * its start. A key that exists throughout the scan appears exactly once. `store` identifies the store instance. Throws
 * `syntax-error` for an invalid token or the token of another store.
 *
 * A page ends when it is full or has reached its work limit. A page that reached its work limit may be empty without
 * being the last page.
 *
 * @param readable - restricts the result to keys that also match this glob
 */
export function scanPage(
  records: Pick<Records, 'order' | 'isExpired' | 'expiredUntil'>,
  store: string,
  { glob, token }: ScanCommand,
  readable?: Glob,
): ScanResult {
  const { order } = records
  const hasExpired = Number.isFinite(records.expiredUntil)
  const { words: globWords, matches } = compileRequestGlob(glob)
  const words = globWords + (readable?.words ?? 0)
  const { from, to } = token === undefined ? { from: 0, to: order.last } : readToken(token, store, order.last)
  const keys: Uint8Array[] = []
  let [bytes, work] = [0, 0]
  const visit = (id: string): boolean => {
    if (hasExpired && records.isExpired(id)) return true
    const cost = (id.length + 1) * words
    if (work > 0 && work + cost > MAX_WORK) return false
    const key = fromBinaryString(id)
    const isMatch = matches(key) && (readable === undefined || readable.matches(key))
    if (
      isMatch &&
      keys.length > 0 &&
      (keys.length >= MAX_PAGE_KEYS || bytes + key.length + KEY_OVERHEAD_BYTES > MAX_PAGE_BYTES)
    ) {
      return false
    }
    work += cost
    if (!isMatch) return true
    bytes += key.length + KEY_OVERHEAD_BYTES
    keys.push(key)
    return true
  }
  const next = order.walk(from, to, MAX_POSITIONS, visit)
  const nextToken = next === undefined ? undefined : utf8(`${store}:${next}:${to}`)
  return { reply: { type: 'page', keys, token: nextToken }, work }
}

function readToken(token: Uint8Array, store: string, last: number): ScanRange {
  const text = token.length <= MAX_TOKEN_BYTES ? toBinaryString(token) : ''
  const [, issuer, from, to] = /^([^:]+):([0-9]{1,16}):([0-9]{1,16})$/.exec(text) ?? []
  const range: ScanRange = { from: Number(from), to: Number(to) }
  if (issuer !== store || range.from > range.to || range.to > last) throw new CommandError('syntax-error')
  return range
}
