import { filter, firstValueFrom } from 'rxjs'
import { onTestFinished } from 'vitest'
import { type AttachedStore, type AttachOptions, attach } from '../../src/server/index.js'

/** Settles when an attached store says that of itself. */
export const untilState = async (store: AttachedStore, wanted: AttachedStore['state']['state']): Promise<void> => {
  await firstValueFrom(store.state$.pipe(filter(({ state }) => state === wanted)))
}

/** Attaches a store to a broker, and resolves when it serves. It is closed at the end of the test. */
export async function openAttached(url: string, options: AttachOptions = {}): Promise<AttachedStore> {
  const store = await attach(url, { reconnect: { initial: 20, max: 200 }, ...options })
  onTestFinished(async () => store.close())
  await untilState(store, 'serving')
  return store
}
