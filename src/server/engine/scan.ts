import type { ScanCommand } from '../../core/protocol/commands.js'
import type { Glob } from '../../core/protocol/glob.js'
import { CommandError, compileGlob } from '../../core/protocol/parse-command.js'
import type { Reply } from '../../core/protocol/replies.js'
import { fromBinaryString, toBinaryString, utf8 } from '../../core/util/bytes.js'
import type { KeyOrder } from './key-order.js'

// What a page may come to, so that no request keeps the others waiting for long, and every client can take it.
const MOST_KEYS = 1_000
const MOST_BYTES = 65_536
/** Places looked at, whether a key there fits or not. */
const MOST_PLACES = 10_000
/** Work of the matcher: bytes of keys, times the words of 32 states that the glob takes. */
const MOST_WORK = 2 ** 22
/** What a key needs in a page besides its own bytes, generously, bytes. */
const KEY_OVERHEAD = 16
const LONGEST_TOKEN = 64

/** A page, and what it took; bytes of keys that were compared, times the words of the globs. */
export interface Page {
  readonly reply: Extract<Reply, { type: 'page' }>
  readonly work: number
}

/** What is left of a scan: numbers of {@link KeyOrder}. */
interface Rest {
  readonly from: number
  /** The newest key when the scan began. */
  readonly to: number
}

/**
 * A page of a scan over keys that are binary strings. The store keeps nothing of it: the token holds the place to go on from and the newest key when the
 * scan began. So a scan ends, however fast keys come, and what comes after it began is left out; a key that exists
 * all the while is in one page, and no key is in two. `store` tells this store from one that had its place before; a token
 * of another scan, or one that was never given, raises `syntax-error`.
 *
 * A page ends when it is full, and when it has cost enough: then it may be empty and yet not the last.
 *
 * @param readable - lists only keys that fit this as well
 */
export function scanPage(order: KeyOrder<string>, store: string, { glob, token }: ScanCommand, readable?: Glob): Page {
  const { words: own, matches } = compileGlob(glob)
  const words = own + (readable?.words ?? 0)
  const { from, to } = token === undefined ? { from: 0, to: order.last } : readToken(token, store, order.last)
  const keys: Uint8Array[] = []
  let [bytes, work] = [0, 0]
  const visit = (id: string): boolean => {
    const cost = (id.length + 1) * words
    if (work > 0 && work + cost > MOST_WORK) return false
    const key = fromBinaryString(id)
    const fits = matches(key) && (readable === undefined || readable.matches(key))
    if (fits && keys.length > 0 && (keys.length >= MOST_KEYS || bytes + key.length + KEY_OVERHEAD > MOST_BYTES)) {
      return false
    }
    work += cost
    if (!fits) return true
    bytes += key.length + KEY_OVERHEAD
    keys.push(key)
    return true
  }
  const next = order.walk(from, to, MOST_PLACES, visit)
  const rest = next === undefined ? undefined : utf8(`${store}:${next}:${to}`)
  return { reply: { type: 'page', keys, token: rest }, work }
}

function readToken(token: Uint8Array, store: string, last: number): Rest {
  const text = token.length <= LONGEST_TOKEN ? toBinaryString(token) : ''
  const [, issuer, from, to] = /^([^:]+):([0-9]{1,16}):([0-9]{1,16})$/.exec(text) ?? []
  const rest: Rest = { from: Number(from), to: Number(to) }
  if (issuer !== store || rest.from > rest.to || rest.to > last) throw new CommandError('syntax-error')
  return rest
}
