import { ArgumentError } from '../../core/util/errors.js'

/** Each costs an attempt in a round, and a little memory. */
const MOST = 32

const SCHEMES = ['mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:', 'ssl:', 'tls:']

/** Where a broker is. */
export interface Addressed {
  /** A URL, or up to 32 of brokers that share one store. */
  readonly url: string | readonly string[]
}

/** Whether something is an {@link Addressed address}, right or wrong. */
export const isUrl = (target: unknown): target is string | readonly string[] =>
  typeof target === 'string' || Array.isArray(target)

/** The addresses of a broker, checked. Throws {@link ArgumentError}. */
export function checkedUrls(target: string | readonly string[]): readonly string[] {
  if (!Array.isArray(target)) return [checkedUrl(target)]
  if (target.length >= 1 && target.length <= MOST) return target.map(checkedUrl)
  throw new ArgumentError(`Expected 1 to ${MOST} broker URLs, got ${target.length}`)
}

function checkedUrl(url: unknown): string {
  const text = typeof url === 'string' && URL.canParse(url) ? url : ''
  const { protocol, hostname } = text === '' ? { protocol: '', hostname: '' } : new URL(text)
  // In the name of a host a comma is meant as one between addresses.
  if (hostname !== '' && !hostname.includes(',') && SCHEMES.includes(protocol)) return text
  const several = String(url).includes(',') ? '; several are an array' : ''
  throw new ArgumentError(
    `Expected a broker URL such as mqtt://localhost:1883 or ws://localhost:8083${several}, got \`${String(url)}\``,
  )
}
