/** A failure for people: what happened, and what to do. */
export interface ErrorText {
  readonly title: string
  readonly advice: string
}

const WORDS: Readonly<Record<string, ErrorText>> = {
  timeout: { title: 'No answer in time', advice: 'Nothing was changed. Is the store frozen, or gone?' },
  'outcome-unknown': {
    title: 'The outcome is unknown',
    advice: 'The connection broke before the answer came. Look at the key before you try again.',
  },
  'not-authorized': { title: 'Not authorized', advice: 'The store does not let this page do that.' },
  'fencing-token-required': {
    title: 'A fencing token is required',
    advice: 'A lock protects this key. Give its token, or take the lock first.',
  },
  'fencing-token-stale': {
    title: 'The fencing token is stale',
    advice: 'Somebody took the lock later: the key holds a newer token than the one given.',
  },
  'fencing-token-skew': {
    title: 'The fencing token is from the future',
    advice: 'It is more than a minute ahead of the store’s clock.',
  },
  'clock-skew': {
    title: 'The clocks differ',
    advice: 'This computer’s clock is more than a minute ahead of the store’s. Set it.',
  },
  'quota-exceeded': { title: 'The store is full', advice: 'It holds as many keys as it may. Delete some.' },
  'syntax-error': { title: 'The store does not take this', advice: 'A glob has at most 1,024 bytes.' },
  'unknown-command': { title: 'The store cannot list its keys', advice: 'It does not know SCAN.' },
  closed: { title: 'The connection was closed', advice: 'Reload the page.' },
}

/** Words for whatever was thrown. */
export function inWords(cause: unknown): ErrorText {
  const known = hasCode(cause) ? WORDS[cause.code] : undefined
  if (known) return known
  if (cause instanceof TypeError) return { title: 'The server cannot be reached', advice: 'Is it running?' }
  return { title: 'That did not work', advice: cause instanceof Error ? cause.message : String(cause) }
}

const hasCode = (cause: unknown): cause is { readonly code: string } =>
  typeof cause === 'object' && cause !== null && 'code' in cause && typeof cause.code === 'string'
