export interface ErrorText {
  readonly title: string
  readonly advice: string
}

const ERROR_TEXTS: Readonly<Record<string, ErrorText>> = {
  timeout: { title: 'Request timed out', advice: 'Nothing was changed. Is the store frozen or down?' },
  'outcome-unknown': {
    title: 'Outcome unknown',
    advice: 'No response arrived, so the write may have been applied. Check the key before you retry.',
  },
  'not-authorized': { title: 'Not authorized', advice: 'The policy of the store does not permit this page to do so.' },
  'fencing-token-required': {
    title: 'Fencing token required',
    advice: 'A lock protects this key. Enter its token, or acquire the lock first.',
  },
  'fencing-token-stale': {
    title: 'Stale fencing token',
    advice: 'The lock was acquired again: the key has a newer token.',
  },
  'fencing-token-skew': {
    title: 'Fencing token too far ahead',
    advice: 'It is more than a minute ahead of the store’s clock.',
  },
  'clock-skew': {
    title: 'Clock skew',
    advice: 'This computer’s clock is more than a minute ahead of the store’s. Correct it.',
  },
  'quota-exceeded': { title: 'Quota exceeded', advice: 'Delete some keys.' },
  'syntax-error': { title: 'Invalid request', advice: 'A glob has at most 1,024 bytes.' },
  'unknown-command': { title: 'Listing not supported', advice: 'The store does not implement SCAN.' },
  rate: { title: 'Too many attempts from this address', advice: 'Wait a moment, and check the token.' },
  closed: { title: 'Connection closed', advice: 'Reload the page.' },
}

export function describeError(cause: unknown): ErrorText {
  const known = hasCode(cause) ? ERROR_TEXTS[cause.code] : undefined
  if (known) return known
  if (hasCode(cause) && cause.code === 'connection-refused') {
    const advice = 'Check this user, its password and the policy of the broker.'
    return { title: 'No access', advice: `${messageOf(cause)}. ${advice}` }
  }
  if (cause instanceof TypeError) return { title: 'Store unreachable', advice: 'Is it running?' }
  return { title: 'Request failed', advice: `${messageOf(cause)}.` }
}

/** Returns an error's message, with a capital letter and without a full stop. */
function messageOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return message.charAt(0).toUpperCase() + message.slice(1).replace(/\.$/, '')
}

const hasCode = (cause: unknown): cause is { readonly code: string } =>
  typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string'
