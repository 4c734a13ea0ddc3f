import type { JSX } from 'preact'
import { useConsole } from './parts/context.js'
import { useCell } from './parts/use-cell.js'

const ANNOUNCEMENTS = {
  connecting: 'Connecting to the store',
  live: 'Live',
  frozen: 'Store frozen',
  stale: 'Stale: no response from the store',
  refused: 'No access: the broker refuses the page',
} as const

/** Announces changes of the health to screen readers, without the duration, which changes every second. */
export const Announcer = (): JSX.Element => (
  <p class="unseen" role="status">
    {ANNOUNCEMENTS[useCell(useConsole().health$).state]}
  </p>
)
