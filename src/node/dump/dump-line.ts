/**
 * A key in a dump, which is NDJSON: one such object per line. `key` and `value` are text; where the bytes are not UTF-8,
 * `keyBytes` and `bytes` hold them as Base64 instead.
 */
export interface DumpLine {
  readonly key?: string
  readonly keyBytes?: string
  readonly value?: string
  readonly bytes?: string
  /** Version of the value, such as `1696374425000:1:StateStore`. */
  readonly version?: string
  /** When the key is gone, ms since the Unix epoch. */
  readonly expiresAt?: number
  /** Later writes must carry this token or a newer one. */
  readonly fencingToken?: string
}
