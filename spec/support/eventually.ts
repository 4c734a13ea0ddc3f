/** Settles when the condition holds, looked at after every turn of the event loop; the test's own limit ends it. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>(resolve => setImmediate(resolve))
}
