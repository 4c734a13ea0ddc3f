import type { Client } from '../../core/mqtt5/peer.js'
import type { Engine } from '../engine/engine.js'
import type { Door } from './door.js'
import type { Life } from './life.js'
import type { StoreStats } from './running-store.js'

/** The counts of all. */
export function statsOf({ broker, server }: Life, { size, bytes, watchers }: Engine<Client>, door: Door): StoreStats {
  const refusedLogins = door.guard?.refusedLogins ?? 0
  return { keys: size, bytes, watches: watchers.count, refusedLogins, ...broker.stats, ...server.counters }
}
