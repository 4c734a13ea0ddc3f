/** How much a run tries: the gate (`CI` is set) more than a developer wants to wait for. */
export const effort = <T>(gate: T, developer: T): T => (process.env['CI'] === undefined ? developer : gate)

/** All of them in the gate; a developer tries so many, never the same. */
export function some<T>(all: readonly T[], developer: number): readonly T[] {
  const left = [...all]
  const count = Math.min(left.length, effort(left.length, developer))
  return Array.from({ length: count }, () => left.splice(Math.floor(Math.random() * left.length), 1)).flat()
}
