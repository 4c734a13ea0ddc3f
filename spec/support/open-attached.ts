import { filter, firstValueFrom } from 'rxjs'
import { onTestFinished } from 'vitest'
import { type AttachedStore, type AttachOptions, attach } from '../../src/server/index.js'

/** Resolves when an attached store reports the given state. */
export const untilState = async (store: AttachedStore, wanted: AttachedStore['state']['state']): Promise<void> => {
  await firstValueFrom(store.state$.pipe(filter(({ state }) => state === wanted)))
}

/** Attaches a store to a broker. Resolves when the store serves. The store closes at the end of the test. */
export async function openAttached(url: string, options: AttachOptions = {}): Promise<AttachedStore> {
  const store = await attach(url, { reconnect: { initial: 20, max: 200 }, ...options })
  onTestFinished(async () => store.close())
  await untilState(store, 'serving')
  return store
}
