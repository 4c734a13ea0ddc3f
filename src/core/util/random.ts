/** Random bytes that cannot be guessed, for ids and correlation data. */
export const randomBytes = (length: number): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(length))
