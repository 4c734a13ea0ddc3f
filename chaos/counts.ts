/** Returns the counters of a run, which are the rows of the final table. */
export const zeroCounts = () => ({
  cuts: 0,
  refusals: 0,
  stalls: 0,
  halfCloses: 0,
  throttles: 0,
  splits: 0,
  replacements: 0,
  reconnects: 0,
  tried: 0,
  applied: 0,
  refused: 0,
  timeout: 0,
  absent: 0,
  unknown: 0,
  closed: 0,
  cancelled: 0,
  reads: 0,
  watches: 0,
  globs: 0,
  notifications: 0,
  resyncs: 0,
})

export type Counts = ReturnType<typeof zeroCounts>
