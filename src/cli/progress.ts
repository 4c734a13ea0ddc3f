import type { Io } from './io.js'

/** What takes less needs no progress, ms. */
const PATIENCE = 1_000
const INTERVAL = 250
const CLEAR_LINE = '\r\u001b[K'

/**
 * Shows how far a command has come, on one line of a terminal, once it has taken a second. The returned function ends
 * that, and clears the line.
 */
export function showProgress(words: () => string, { stderr, clock }: Pick<Io, 'stderr' | 'clock'>): () => void {
  if (!stderr.isTTY) return () => undefined
  let shown = false
  const show = (): void => {
    shown = true
    stderr.write(`${CLEAR_LINE}${words()}`)
    cancel = clock.schedule(INTERVAL, show)
  }
  let cancel = clock.schedule(PATIENCE, show)
  return () => {
    cancel()
    if (shown) stderr.write(CLEAR_LINE)
  }
}
