import type { JSX } from 'preact'
import { type ChangeTimes, dotsPath } from '../../model/change-times.js'

/** CSS pixels. */
const HEIGHT = 16
const INSET = 4

export interface MarblesProps {
  readonly changeTimes: ChangeTimes
  /** The current time, ms on the store's clock. */
  readonly now: number
  /** CSS pixels, or units of the drawing if it is stretched. */
  readonly width: number
  /** Whether the drawing fills the width of its container. */
  readonly stretched?: boolean
}

/**
 * Shows the changes of the last minute as marbles that move to the left. The marbles are decorative, because the same
 * information is available as text.
 */
export function Marbles({ changeTimes, now, width, stretched = false }: MarblesProps): JSX.Element {
  const middle = HEIGHT / 2
  return (
    <svg
      class="marbles"
      width={stretched ? '100%' : width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="marbles-line" d={`M${INSET} ${middle}H${width - INSET}`} />
      <path class="marbles-set" d={dotsPath(changeTimes.sets, now, width, middle, INSET)} />
      <path class="marbles-delete" d={dotsPath(changeTimes.deletes, now, width, middle, INSET)} />
    </svg>
  )
}
