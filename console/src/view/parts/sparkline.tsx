import type { JSX } from 'preact'
import { formatCount } from '../../model/amount.js'
import { spark } from '../../model/spark.js'
import { MAX_SAMPLES } from '../../state/stats-history.js'
import { useIsCurrent } from './state-mark.js'

const WIDTH = 120
const HEIGHT = 28
/** The lowest end of the scale, so that small values do not fill the height. */
const MIN_SCALE = 4

export function Sparkline({ of, values }: { readonly of: string; readonly values: readonly number[] }): JSX.Element {
  const { line, area } = spark(values, MAX_SAMPLES, WIDTH, HEIGHT, MIN_SCALE)
  const now = useIsCurrent() ? formatCount(values.at(-1) ?? 0) : 'unknown'
  const label = `${of} over the last two minutes: now ${now}, highest ${formatCount(Math.max(0, ...values))}`
  return (
    <svg class="spark" viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path class="spark-area" d={area} />
      <path class="spark-line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  )
}
