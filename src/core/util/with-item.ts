/** An item of a stream and the result of its request, which operators with `withItem: true` emit. */
export interface ItemResult<T, R> {
  readonly item: T
  readonly result: R
}

/** The output of an operator: a result, or with `withItem: true` the item and its result. */
export type WithItem<W extends boolean, T, R> = W extends true ? ItemResult<T, R> : R
