/** An item of a stream, and the result of the request that was made of it: what operators emit with `withItem: true`. */
export interface ItemResult<T, R> {
  readonly item: T
  readonly result: R
}

/** What an operator emits for a result: with `withItem: true` the item beside it. */
export type WithItem<W extends boolean, T, R> = W extends true ? ItemResult<T, R> : R
