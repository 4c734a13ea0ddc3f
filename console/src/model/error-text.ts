export interface ErrorText {
  readonly title: string
  readonly advice: string
}

const ERROR_TEXTS: Readonly<Record<string, ErrorText>> = {
  timeout: { title: 'Request timed out', advice: 'Nothing was changed. Is the store frozen or down?' },
  'outcome-unknown': {
    title: 'Outcome unknown',
    advice: 'The connection broke before the response arrived. Check the key before retrying.',
  },
  'not-authorized': { title: 'Not authorized', advice: 'The store does not permit this.' },
  'fencing-token-required': {
    title: 'Fencing token required',
    advice: 'A lock protects this key. Enter its token, or acquire the lock first.',
  },
  'fencing-token-stale': {
    title: 'Stale fencing token',
    advice: 'The lock was acquired again: the key has a newer token.',
  },
  'fencing-token-skew': {
    title: 'Fencing token from the future',
    advice: 'It is more than a minute ahead of the store’s clock.',
  },
  'clock-skew': {
    title: 'Clock skew',
    advice: 'This computer’s clock is more than a minute ahead of the store’s. Correct it.',
  },
  'quota-exceeded': { title: 'Quota exceeded', advice: 'Delete some keys.' },
  'syntax-error': { title: 'Invalid request', advice: 'A glob has at most 1,024 bytes.' },
  'unknown-command': { title: 'Listing not supported', advice: 'The store does not implement SCAN.' },
  closed: { title: 'Connection closed', advice: 'Reload the page.' },
}

export function describeError(cause: unknown): ErrorText {
  const known = hasCode(cause) ? ERROR_TEXTS[cause.code] : undefined
  if (known) return known
  if (cause instanceof TypeError) return { title: 'Store unreachable', advice: 'Is it running?' }
  return { title: 'Request failed', advice: cause instanceof Error ? cause.message : String(cause) }
}

const hasCode = (cause: unknown): cause is { readonly code: string } =>
  typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string'
