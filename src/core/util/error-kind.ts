const IDENTIFIER = /^[\w.-]{1,64}$/

/**
 * What an error is called, with its code: for a record, as its message may say too much, such as an address or a password.
 *
 * @example
 * ```ts
 * kindOf(Object.assign(new Error('no answer of db.internal'), { code: 'ECONNREFUSED' })) // 'Error ECONNREFUSED'
 * ```
 */
export function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`
  const name = IDENTIFIER.test(error.name) ? error.name : 'Error'
  const code = 'code' in error && typeof error.code === 'string' && IDENTIFIER.test(error.code) ? ` ${error.code}` : ''
  return name + code
}
