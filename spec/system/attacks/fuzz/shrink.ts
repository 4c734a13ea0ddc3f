/**
 * Returns the fewest packets and bytes that still fail, by removing packets and parts of packets. `does` is called some
 * hundred times.
 */
export async function shrink(
  packets: readonly Buffer[],
  does: (packets: readonly Buffer[]) => Promise<boolean>,
): Promise<readonly Buffer[]> {
  const smallest = [...(await without(packets, does))]
  for (const [place, packet] of smallest.entries()) {
    const withPacket = (bytes: readonly number[]): Buffer[] =>
      smallest.map((other, at) => (at === place ? Buffer.from(bytes) : other))
    smallest[place] = Buffer.from(await without([...packet], async rest => does(withPacket(rest))))
  }
  return smallest.filter(({ length }) => length > 0)
}

/** Removes runs of items, first halves and then shorter runs. */
async function without<T>(all: readonly T[], does: (rest: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let items = all
  for (let run = Math.ceil(items.length / 2); run >= 1; run = run === 1 ? 0 : Math.ceil(run / 2)) {
    for (let at = 0; at < items.length; ) {
      const rest = [...items.slice(0, at), ...items.slice(at + run)]
      if (await does(rest)) items = rest
      else at += run
    }
  }
  return items
}
