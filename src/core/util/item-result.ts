/** An operator's result: the source item, and its request's result. */
export type ItemResult<T, R> = R & { readonly item: T }
