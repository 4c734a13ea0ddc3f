import { isIP } from 'node:net'
import { isLoopback } from './host-name.js'

/** Whether an address is of this machine, where proxies are as well. */
export const isThisMachine = (address: string): boolean =>
  address === '::1' || isLoopback(address.replace(/^::ffff:/i, ''))

/** An address, or of IPv6 the first half of it. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  // What `::` stands for is zeros: as many as are missing.
  const known = groups.length + (tail === undefined || tail === '' ? 0 : tail.split(':').length)
  const zeros = tail === undefined ? 0 : 8 - known
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...(tail ? tail.split(':') : [])]
  return `${all.slice(0, 4).join(':')}::/64`
}

/**
 * Where a request over HTTP comes from: of one that a proxy on this machine passed on, the address that the proxy adds last
 * to `X-Forwarded-For`; what stands before it, anybody can have written.
 *
 * @param proxied - whether there is such a proxy
 */
export function callerOf(address: string, forwarded: string | readonly string[] | undefined, proxied: boolean): string {
  if (!proxied || !isThisMachine(address) || forwarded === undefined) return address
  const last = String(forwarded).split(',').at(-1)?.trim() ?? ''
  const caller = withoutPort(last)
  // Of a proxy that adds nothing the client says what it likes.
  return isIP(caller) === 0 ? address : caller
}

/** Some proxies add the port, which is another with each connection. */
const withoutPort = (address: string): string =>
  /^\[([^\]]*)\](:\d+)?$/.exec(address)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(address)?.[1] ?? address
