/** Returns an object without its undefined members, which would hide the ones of another object when both are merged. */
export function omitUndefined<const T extends object>(
  members: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> }
export function omitUndefined(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
