/** The name of a snapshot: when names are sorted, the newest comes last. */
export const snapshotName = (position: number, nodeId: string): string =>
  `${String(position).padStart(16, '0')}-${nodeId}`

/** The position that a name says; `undefined` for a name that is none of a snapshot. */
export function positionOf(name: string): number | undefined {
  const [, digits] = /^(\d{16})-/.exec(name) ?? []
  return digits === undefined ? undefined : Number(digits)
}
