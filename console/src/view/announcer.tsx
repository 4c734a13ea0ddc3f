import type { JSX } from 'preact'
import { useConsole } from './context.js'
import { useCell } from './use-cell.js'

const SAID = {
  connecting: 'Connecting to the store',
  live: 'Live',
  frozen: 'The store is frozen',
  stale: 'Stale: the store does not answer',
  refused: 'The token was refused',
} as const

/** Tells screen readers when the health is another one, and not every second how long it has been so. */
export const Announcer = (): JSX.Element => (
  <p class="unseen" role="status">
    {SAID[useCell(useConsole().health$).state]}
  </p>
)
