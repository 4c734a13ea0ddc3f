import type { JSX } from 'preact'
import { count } from '../model/amount.js'
import { spark } from '../model/spark.js'
import { MOST_PULSES } from '../state/pulses.js'

/** Of the drawing; CSS decides how large it is. */
const WIDTH = 120
const HEIGHT = 28
/** The scale never ends below it. */
const LEAST = 4

/** Counts of the last two minutes. */
export function Sparkline({ of, values }: { readonly of: string; readonly values: readonly number[] }): JSX.Element {
  const { line, area } = spark(values, MOST_PULSES, WIDTH, HEIGHT, LEAST)
  const label = `${of} over the last two minutes: now ${count(values.at(-1) ?? 0)}, highest ${count(Math.max(0, ...values))}`
  return (
    <svg class="spark" viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="spark-area" d={area} />
      <path class="spark-line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  )
}
