/** How much a run tries: the gate (`CI` is set) more than a developer wants to wait for. */
export const effort = <T>(gate: T, developer: T): T => (process.env['CI'] === undefined ? developer : gate)
