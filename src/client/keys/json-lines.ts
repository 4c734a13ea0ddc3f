import type { StandardSchemaV1 } from '@standard-schema/spec'
import { concatBytes } from '../../core/util/bytes.js'
import { ArgumentError, PayloadError, reason } from '../../core/util/errors.js'
import { type Codec, wrongType } from './codec.js'
import { json } from './json.js'

/**
 * An array of records as JSON lines (NDJSON), one record a line: the format of a dataset by which data flows of Azure IoT
 * Operations enrich messages. Each line is what {@link json} makes of its record, validated when read if there is a schema.
 * Lines end with LF or CR LF; blank ones are passed over. An error names its line, counted from 1; one line that cannot be
 * read makes the value `invalid`. An empty array is an empty value.
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
  const by = schema === undefined ? json : schema
  const known = codecs.get(by)
  if (known !== undefined) return known
  const codec = linesOf(schema === undefined ? json() : json(schema))
  codecs.set(by, codec)
  return codec
}

/** By schema, or by `json` for none: keys are told apart by their codecs, and these are as one. */
const codecs = /* @__PURE__ */ new WeakMap<object, Codec<readonly unknown[]>>()

const LF = 10
/** Space, tab and CR. */
const BLANK: ReadonlySet<number> = /* @__PURE__ */ new Set([32, 9, 13])
const LINE_END = /* @__PURE__ */ Uint8Array.of(LF)

const linesOf = (record: Codec<unknown>): Codec<readonly unknown[]> => ({
  encode(records) {
    if (!Array.isArray(records)) throw wrongType('an array of records', records)
    // By index, as a hole is no record either.
    const lines = Array.from(records, (each: unknown, at) => {
      try {
        return record.encode(each)
      } catch (cause) {
        throw new ArgumentError(`Line ${at + 1}: ${reason(cause)}`, { cause })
      }
    })
    return concatBytes(lines.flatMap((line, at) => (at === 0 ? [line] : [LINE_END, line])))
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
