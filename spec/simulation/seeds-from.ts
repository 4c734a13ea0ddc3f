/**
 * The seeds 1 to `most`, beginning with one that is known to show what few do: where it is moves with the generator, and
 * then all the others are tried.
 */
export function* seedsFrom(first: number, most: number): Generator<number> {
  for (let i = 0; i < most; i++) yield ((first - 1 + i) % most) + 1
}
