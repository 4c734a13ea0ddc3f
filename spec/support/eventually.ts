/** The number of turns of the event loop after which a condition probably depends on another process. */
const EAGER_TURNS = 100
const { setTimeout: setRealTimeout } = globalThis

/**
 * Resolves when the condition holds. Checks the condition after every turn of the event loop, and later every
 * millisecond of real time, until the test times out.
 */
export async function eventually(condition: () => boolean): Promise<void> {
  for (let turn = 0; !condition(); turn++)
    await new Promise<void>(resolve => {
      if (turn < EAGER_TURNS) setImmediate(resolve)
      else setRealTimeout(resolve, 1)
    })
}
