import { checkObject } from '../../core/util/check.js'
import type { AttachedStore } from './attached-store.js'
import { type AttachOptions, settingsFrom } from './options.js'

/**
 * Serves a state store through an existing MQTT 5 broker. The store connects as a client, receives and answers the
 * requests of other clients, and notifies watchers. Returns immediately. The store then waits for the broker,
 * reconnects after every interruption, and stands by while another store serves (see {@link AttachedStore.state$}).
 * Throws `argument` for invalid options, and for a policy when the broker does not identify a request's sender.
 *
 * @example
 * ```ts
 * await using store = await attach('mqtt://localhost', {
 *   data: './state',
 * })
 * store.state$.subscribe(({ state }) => console.log(state))
 * ```
 */
export async function attach(url: string, options: AttachOptions = {}): Promise<AttachedStore> {
  checkObject('options', options)
  const settings = settingsFrom(options)
  // The dynamic import loads mqtt.js, which a store with the built-in broker does not need.
  const { AttachedStoreHandle } = await import('./attached-store-handle.js')
  return new AttachedStoreHandle(url, settings)
}
