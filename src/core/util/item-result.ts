/** The result of an operator: the source item, and the result of its request. */
export type ItemResult<T, R> = R & { readonly item: T }
