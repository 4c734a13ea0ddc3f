/** Parses the wire form of a version or token without the code under test. */
export function partsOf(version: string): { wall: number; counter: number; node: string } {
  const [wall, counter, node, ...more] = version.split(':')
  if (node === undefined || more.length > 0) throw new Error(`Not a version: ${version}`)
  return { wall: Number(wall), counter: Number(counter), node }
}

/** Returns whether `a` is a later version than `b`, by wall clock, then counter, then node id by code unit. */
export function isNewer(a: string, b: string): boolean {
  const [x, y] = [partsOf(a), partsOf(b)]
  if (x.wall !== y.wall) return x.wall > y.wall
  if (x.counter !== y.counter) return x.counter > y.counter
  return x.node > y.node
}
