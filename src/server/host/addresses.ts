import type { ServeOptions } from './options.js'

/** Where clients find a store. */
export interface StoreUrls {
  /** Over TCP. */
  readonly url: string
  /** Over WebSocket. */
  readonly wsUrl: string
}

/** The URLs of a store that listens at these ports. */
export function urlsOf(
  { host, tls }: Required<Pick<ServeOptions, 'host' | 'tls'>>,
  { port, wsPort }: { readonly port: number; readonly wsPort: number },
): StoreUrls {
  const s = tls === undefined ? '' : 's'
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `mqtt${s}://${name}:${port}`, wsUrl: `ws${s}://${name}:${wsPort}` }
}
