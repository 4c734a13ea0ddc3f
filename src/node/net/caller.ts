import { isIP } from 'node:net'
import { isThisMachine } from '../limits/network.js'

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
