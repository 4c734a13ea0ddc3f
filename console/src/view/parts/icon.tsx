import type { JSX } from 'preact'
import { STATES } from '../../../../design/states.js'

/** Paths of line drawings of 16 by 16 units. */
const PATHS = {
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.4 10.4l3.1 3.1',
  tree: 'M2.5 3.5h5M5.5 8h8M5.5 12.5h8M3.5 3.5v9h2M3.5 8h2',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  next: 'M6 3.5L10.5 8 6 12.5',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z',
  trash: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5',
  lock: 'M4 7.5h8v6H4zM5.7 7.5V5.3a2.3 2.3 0 0 1 4.6 0v2.2',
  connecting: STATES.connecting.icon,
  live: STATES.live.icon,
  pending: STATES.pending.icon,
  stale: STATES.stale.icon,
  refused: STATES.refused.icon,
  frozen: 'M8 2v12M2.8 5l10.4 6M13.2 5L2.8 11M6.5 3L8 4.5 9.5 3M6.5 13L8 11.5 9.5 13',
  restart: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.5V5h-2.5',
  cut: 'M2 8h4M10 8h4M7 5.5v5M9 5.5v5',
  seed: 'M8 14V8M8 9C8 5.5 5.5 4 3 4c0 3.5 2 5 5 5zM8 7.5c0-3 2-4.5 5-4.5 0 3-2 4.5-5 4.5z',
  down: 'M8 2.5v8M4.5 7.5L8 11l3.5-3.5M3 13.5h10',
  up: 'M8 11V3M4.5 6.5L8 3l3.5 3.5M3 13.5h10',
  system: 'M2.5 3.5h11v7.5h-11zM6 13.5h4',
  light:
    'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1',
  dark: 'M13.2 9.5A5.7 5.7 0 0 1 6.5 2.8a5.5 5.5 0 1 0 6.7 6.7z',
  warn: 'M8 2.5l6 11H2zM8 6.5v3.5M8 11.8v.2',
} as const

export type IconName = keyof typeof PATHS

/** Shows a decorative icon, which is hidden from assistive technology. */
export const Icon = ({ name }: { readonly name: IconName }): JSX.Element => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)
