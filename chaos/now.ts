/** The machine's monotonic clock, ms; the same in all processes. */
export const now = () => Number(process.hrtime.bigint()) / 1e6
