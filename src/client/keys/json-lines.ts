import type { StandardSchemaV1 } from '@standard-schema/spec'
import { concatBytes } from '../../core/util/bytes.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { type Codec, wrongType } from './codec.js'
import { json } from './json.js'

/**
 * Returns a codec for an array of records as JSON lines (NDJSON), one record per line. Data flows of Azure IoT
 * Operations enrich messages with datasets in this format. The codec encodes each record as {@link json} does; with a
 * schema, records are validated when they are read. Lines end with LF or CR LF, and blank lines are skipped. Errors
 * name the line, counted from 1; one malformed line makes the value `invalid`. An empty array is stored as an empty
 * value.
 *
 * @example
 * ```ts
 * jsonLines<{ asset: string; room: string }>()
 * jsonLines(z.object({ asset: z.string(), room: z.string() }))
 * ```
 */
export function jsonLines<S extends StandardSchemaV1>(schema: S): Codec<readonly StandardSchemaV1.InferOutput<S>[]>
export function jsonLines<T>(): Codec<readonly T[]>
export function jsonLines(schema?: StandardSchemaV1): Codec<readonly unknown[]> {
  const cacheKey = schema === undefined ? json : schema
  const known = codecs.get(cacheKey)
  if (known !== undefined) return known
  const codec = createCodec(schema === undefined ? json() : json(schema))
  codecs.set(cacheKey, codec)
  return codec
}

/**
 * Codecs by schema, or by `json` for the codec without a schema. Hooks compare keys by codec identity, so equal codecs
 * must be the same object.
 */
const codecs = /* @__PURE__ */ new WeakMap<object, Codec<readonly unknown[]>>()

const LF = 10
/** The bytes of space, tab and CR. */
const BLANK: ReadonlySet<number> = /* @__PURE__ */ new Set([32, 9, 13])
const LINE_END = /* @__PURE__ */ Uint8Array.of(LF)

const createCodec = (record: Codec<unknown>): Codec<readonly unknown[]> => ({
  encode(records) {
    if (!Array.isArray(records)) throw wrongType('an array of records', records)
    // Array.from also visits holes, which are not records.
    const lines = Array.from(records, (each: unknown, index) => {
      try {
        return record.encode(each)
      } catch (cause) {
        throw new ArgumentError(`Line ${index + 1}: ${reason(cause)}`, { cause })
      }
    })
    return concatBytes(lines.flatMap((line, index) => (index === 0 ? [line] : [LINE_END, line])))
  },
  decode(stored) {
    const records: unknown[] = []
    let number = 1
    for (let start = 0; start < stored.length; number++) {
      const end = stored.indexOf(LF, start)
      const line = stored.subarray(start, end < 0 ? stored.length : end)
      start += line.length + 1
      if (line.every(byte => BLANK.has(byte))) continue
      try {
        records.push(record.decode(line))
      } catch (cause) {
        throw new PayloadError(`Line ${number}: ${reason(cause)}`, { cause })
      }
    }
    return records
  },
})
