import { formatValue } from './errors.js'

const MAX_LENGTH = 80
/** A query, a fragment, or a colon before anything but a port: the password of an address whose host is missing. */
const MAYBE_SECRET = /[?#]|:(?!\d*([/,:]|$))/

/**
 * Formats an address for messages, events and pages. The user name, the password, the query and the fragment may be
 * secrets and are left out. Accepts any value, and hides what may be secret in a text that is not a URL.
 *
 * @example
 * ```ts
 * // ws://broker:8083/mqtt
 * formatUrl('ws://panel:secret@broker:8083/mqtt?token=secret')
 * ```
 */
export function formatUrl(url: unknown): string {
  const text = formatValue(url)
  if (URL.canParse(text)) {
    const { protocol, host, pathname } = new URL(text)
    // The parser takes a second address in the same text for a path.
    if (host && !pathname.includes('@')) return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
  }
  const [scheme = ''] = /^[a-z]+:\/\//i.exec(text) ?? []
  // A password may contain any delimiter, so the host is behind the last @.
  const address = text.slice(scheme.length).replace(/^[^?#]*@/, '…@')
  return `${scheme}${MAYBE_SECRET.test(address) ? '…' : address}`.slice(0, MAX_LENGTH)
}
