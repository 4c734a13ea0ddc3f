import { config } from 'rxjs'
import { onTestFinished, vi } from 'vitest'

/** Records process warnings instead of printing them, also those about subscribers that throw, until the test ends. */
export function recordWarnings(): readonly string[] {
  const texts: string[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation(text => void texts.push(String(text)))
  // Other specs of this process may have set a handler, which replaces the warnings.
  const { onUnhandledError } = config
  config.onUnhandledError = null
  onTestFinished(() => {
    spy.mockRestore()
    config.onUnhandledError = onUnhandledError
  })
  return texts
}
