/** Returns the internal type of a typed array, which a faked name or prototype does not change. */
const getTypedArrayTag: unknown = /* @__PURE__ */ Reflect.getOwnPropertyDescriptor(
  /* @__PURE__ */ Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get

/**
 * Returns whether a value is a Uint8Array, even of another realm: test environments, frames and `node:vm` have separate
 * classes, so `instanceof` is false for their values.
 */
export const isBytes = (value: unknown): value is Uint8Array =>
  typeof getTypedArrayTag === 'function' && Reflect.apply(getTypedArrayTag, value, []) === 'Uint8Array'

/** Returns whether a value has one of these built-in types, even of another realm. A subclass may rename itself. */
export const hasTag = (value: unknown, ...types: readonly string[]): boolean =>
  types.includes(Object.prototype.toString.call(value).slice(8, -1))

/** Returns whether a value is an ArrayBuffer, even of another realm. */
export const isArrayBuffer = (value: unknown): value is ArrayBuffer => hasTag(value, 'ArrayBuffer')

/** Returns whether a value is an error, even of another realm. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || hasTag(value, 'Error', 'DOMException')

/** Returns whether a value is an object other than an array, as a JSON object is. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
