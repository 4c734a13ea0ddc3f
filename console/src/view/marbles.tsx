import type { JSX } from 'preact'
import { type ChangeTimes, dots } from '../model/beats.js'

/** Of the drawing, CSS pixels. */
const HEIGHT = 16
const INSET = 4

/** What a line of marbles shows. */
export interface MarblesProps {
  readonly beats: ChangeTimes
  /** ms on the store's clock. */
  readonly now: number
  /** CSS pixels. */
  readonly width: number
}

/** The changes of the last minute, as marbles that move to the left; the same is told in numbers elsewhere. */
export function Marbles({ beats, now, width }: MarblesProps): JSX.Element {
  const middle = HEIGHT / 2
  const quiet = beats.sets.length === 0 && beats.deletes.length === 0
  return (
    <svg class="marbles" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <path class="marbles-line" d={`M${INSET} ${middle}H${width - INSET}`} />
      {!quiet && <path class="marbles-set" d={dots(beats.sets, now, width, middle, INSET)} />}
      {!quiet && <path class="marbles-delete" d={dots(beats.deletes, now, width, middle, INSET)} />}
    </svg>
  )
}
