import { isLoopback } from '../../core/util/host-name.js'

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
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - known)
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...(tail ? tail.split(':') : [])]
  return `${all.slice(0, 4).join(':')}::/64`
}

/** Names a network connection while it is open: with TLS the socket above is another object than the one below. */
export const connectionName = ({ localPort, remoteAddress, remotePort }: ConnectionEnds): string =>
  `${localPort} ${remoteAddress} ${remotePort}`

/** Of a socket. */
export interface ConnectionEnds {
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}
