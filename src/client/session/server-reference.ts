import { nameOf } from '../../core/util/host-name.js'

/** A broker that another one names in its place. */
export interface ServerReference {
  /** In lower case; an IPv6 address in brackets. */
  readonly host: string
  readonly port: number | undefined
}

/** Nobody has more brokers than this to name; the rest is not read. */
const LONGEST = 4_096
const MOST = 16

/**
 * Reads a server reference (MQTT 5.0, section 4.11): `host` or `host:port`, several with a space between. It comes from
 * the wire: whatever is neither is left out, and of too long a text everything.
 *
 * @example
 * ```ts
 * referencesOf('b:1883 [::1]') // [{ host: 'b', port: 1883 }, { host: '[::1]', port: undefined }]
 * ```
 */
export function referencesOf(text: unknown): readonly ServerReference[] {
  if (typeof text !== 'string' || text.length > LONGEST) return []
  const parts = text.split(' ').filter(part => part !== '')
  return parts.slice(0, MOST).flatMap(part => referenceOf(part) ?? [])
}

function referenceOf(text: string): ServerReference | undefined {
  const host = nameOf(text)
  if (host === undefined || !URL.canParse(`ws://${host}`)) return undefined
  const port = text.slice(host.length + 1)
  if (port === '') return { host, port: undefined }
  return Number(port) > 0 && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined
}
