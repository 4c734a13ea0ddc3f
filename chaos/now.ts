/** Returns the machine's monotonic clock in ms, which is the same in all processes. */
export const now = () => Number(process.hrtime.bigint()) / 1e6
