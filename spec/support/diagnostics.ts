import { onTestFinished } from 'vitest'
import { type DiagnosticEvents, subscribe } from '../../src/core/diagnostics/index.js'

/** Records the events of a channel until the end of the test, as copies of what is published. */
export function listen<Name extends keyof DiagnosticEvents>(name: Name): DiagnosticEvents[Name][] {
  const events: DiagnosticEvents[Name][] = []
  onTestFinished(subscribe(name, event => events.push({ ...event })))
  return events
}
