/** An item of a stream and the result of its request: emitted by operators with `withItem: true`. */
export interface ItemResult<T, R> {
  readonly item: T
  readonly result: R
}

export type WithItem<W extends boolean, T, R> = W extends true ? ItemResult<T, R> : R
