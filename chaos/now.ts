/** ms of the machine's monotonic clock: the same in all its processes, and never set. */
export const now = () => Number(process.hrtime.bigint()) / 1e6
