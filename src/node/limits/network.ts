import { isLoopback } from '../../core/util/host-name.js'

/** Returns whether an address belongs to this machine, as the addresses of its local proxies do. */
export const isThisMachine = (address: string): boolean =>
  address === '::1' || isLoopback(address.replace(/^::ffff:/i, ''))

/** Returns an IPv4 address, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  // `::` stands for the missing groups.
  const known = groups.length + (tail === undefined || tail === '' ? 0 : tail.split(':').length)
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - known)
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...(tail ? tail.split(':') : [])]
  return `${all.slice(0, 4).join(':')}::/64`
}

/**
 * Returns a name that identifies an open connection, because with TLS the upper and lower sockets are different
 * objects.
 */
export const connectionName = ({ localPort, remoteAddress, remotePort }: ConnectionEnds): string =>
  `${localPort} ${remoteAddress} ${remotePort}`

export interface ConnectionEnds {
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}
