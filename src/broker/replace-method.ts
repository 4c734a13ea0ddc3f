type Method = (...args: unknown[]) => unknown

/**
 * Puts a method of our own in front of one of aedes, whose version is pinned.
 *
 * @throws Error - when there is no such method
 */
export function replaceMethod(
  target: object,
  name: string,
  wrap: (original: Method) => (...args: never[]) => unknown,
): void {
  const original: unknown = Reflect.get(target, name)
  if (typeof original !== 'function') throw new Error(`aedes has no ${name}`)
  Reflect.set(
    target,
    name,
    wrap((...args) => Reflect.apply(original, target, args)),
  )
}
