export const zeroCounts = () => ({
  cuts: 0,
  refusals: 0,
  stalls: 0,
  halfCloses: 0,
  throttles: 0,
  splits: 0,
  replacements: 0,
  restarts: 0,
  recoveries: 0,
  sessions: 0,
  expired: 0,
  overflowed: 0,
  gaps: 0,
  copies: 0,
  delivered: 0,
  duplicates: 0,
  losses: 0,
  reorderings: 0,
})

export type Counts = ReturnType<typeof zeroCounts>
