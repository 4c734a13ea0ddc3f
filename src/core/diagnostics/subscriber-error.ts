import { isError } from '../util/built-in-types.js'
import { afterIo } from '../util/clock.js'

interface WarningSink {
  emitWarning?(warning: string, options: { readonly code: string }): void
}

const runtime: { readonly process?: WarningSink } = globalThis
/** The number of different errors that are reported, because a subscriber may throw at each event. */
const MAX_REPORTED = 100
const reported = new Set<string>()

/**
 * Reports an error that a subscriber threw, once for each text: in Node as a process warning with the code
 * `RX_STATESTORE_SUBSCRIBER`, because an uncaught error would end the store, and elsewhere as an uncaught error.
 */
export function reportSubscriberError(error: unknown): void {
  const text = String(error)
  if (reported.has(text) || reported.size >= MAX_REPORTED) return
  reported.add(text)
  const details = isError(error) ? (error.stack ?? text) : text
  if (runtime.process?.emitWarning)
    runtime.process.emitWarning(`a subscriber threw an error: ${details}`, { code: 'RX_STATESTORE_SUBSCRIBER' })
  else
    afterIo(() => {
      throw error
    })
}

/** Calls a subscriber, and reports the error that it throws. */
export function callSubscriber(call: () => void): void {
  try {
    call()
  } catch (error) {
    reportSubscriberError(error)
  }
}
