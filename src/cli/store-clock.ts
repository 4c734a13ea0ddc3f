import { firstValueFrom } from 'rxjs'
import { bytes, type StateStore } from '../client/index.js'
import { randomBytes, toHex } from '../core/util/bytes.js'
import type { Clock } from '../core/util/clock.js'

/** How far the clock of a store is from ours, ms. */
export interface ClockOffset {
  /** Positive when the store's is ahead. */
  readonly offset: number
  /** Half the time the answer took, in which the store may have looked at its clock. */
  readonly uncertainty: number
}

/** Where the keys are that are written to look at the clock. */
export const PROBE_PREFIX = 'rx-statestore/probe/'
/** So that they go by themselves, should they not be deleted, ms. */
const TIME_TO_LIVE = 1_000
/** The time that requests carry: long ago, for a version is never older than the request for it. */
export const LONG_AGO = 1

/**
 * How far versions are from our clock. Only the answer to a write tells what the store's clock said, so a key of
 * a random name is written, and deleted at once.
 *
 * @param store - one that tells {@link LONG_AGO} as its time
 */
export async function clockOffset(store: StateStore, clock: Pick<Clock, 'now' | 'monotonic'>): Promise<ClockOffset> {
  const key = store.key(`${PROBE_PREFIX}${toHex(randomBytes(8))}`, bytes)
  const [sent, start] = [clock.now(), clock.monotonic()]
  const { version } = await firstValueFrom(key.set(new Uint8Array(0), { expiresIn: TIME_TO_LIVE }))
  const took = clock.monotonic() - start
  await firstValueFrom(key.delete())
  if (version === undefined) throw new Error('the store gave no version')
  return { offset: Math.round(version.wallClock - (sent + took / 2)), uncertainty: Math.ceil(took / 2) }
}
