import type { Clock } from '../../core/util/clock.js'
import type { Credentials } from './mqttjs-options.js'

export type CredentialsSource = () => Credentials | Promise<Credentials>

interface CredentialsListener {
  /** May throw for malformed credentials, which then count as a failure. */
  received(credentials: Credentials): void
  failed(cause: unknown): void
}

/**
 * Requests credentials, and calls `failed` if they do not arrive in time. Ignores later results. Returns a function
 * that cancels the request.
 */
export function requestCredentials(
  source: CredentialsSource,
  clock: Clock,
  timeoutMs: number,
  { received, failed }: CredentialsListener,
): () => void {
  let isSettled = false
  const cancel = (): void => {
    isSettled = true
    cancelTimeout()
  }
  const fail = (cause: unknown): void => {
    if (isSettled) return
    cancel()
    failed(cause)
  }
  const cancelTimeout = clock.schedule(timeoutMs, () =>
    fail(new Error(`\`credentials\` has not settled within ${timeoutMs} ms: check the service that it waits for`)),
  )
  // Synchronous throws and malformed credentials are handled like rejections.
  Promise.resolve()
    .then(source)
    .then(credentials => {
      if (isSettled) return
      received(credentials)
      cancel()
    })
    .catch(fail)
  return cancel
}
