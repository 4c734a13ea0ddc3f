/** A store's ports. */
export interface Ports {
  readonly port: number
  readonly wsPort: number
}

/** Divides ports among stores. */
export const storePortsOf = (ports: readonly number[]): Ports[] =>
  Array.from({ length: ports.length / 2 }, (_, at) => ({ port: ports[2 * at] ?? 0, wsPort: ports[2 * at + 1] ?? 0 }))
