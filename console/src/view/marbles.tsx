import type { JSX } from 'preact'
import { type ChangeTimes, dotsPath } from '../model/change-times.js'

/** CSS pixels. */
const HEIGHT = 16
const INSET = 4

export interface MarblesProps {
  readonly changeTimes: ChangeTimes
  /** The current time, ms on the store's clock. */
  readonly now: number
  /** CSS pixels. */
  readonly width: number
}

/**
 * Shows the changes of the last minute as marbles that move to the left. The marbles are decorative, because the same
 * information is available as text.
 */
export function Marbles({ changeTimes, now, width }: MarblesProps): JSX.Element {
  const middle = HEIGHT / 2
  const isEmpty = changeTimes.sets.length === 0 && changeTimes.deletes.length === 0
  return (
    <svg class="marbles" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <path class="marbles-line" d={`M${INSET} ${middle}H${width - INSET}`} />
      {!isEmpty && <path class="marbles-set" d={dotsPath(changeTimes.sets, now, width, middle, INSET)} />}
      {!isEmpty && <path class="marbles-delete" d={dotsPath(changeTimes.deletes, now, width, middle, INSET)} />}
    </svg>
  )
}
