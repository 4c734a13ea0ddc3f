/**
 * Resolves when the condition holds. Checks the condition after every turn of the event loop until the test times out.
 */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>(resolve => setImmediate(resolve))
}
