const STORAGE_KEY = 'rx-statestore console token'

/** The token's sources. The session storage keeps the token for this window across reloads. */
export interface TokenSources {
  readonly location: Pick<Location, 'hash' | 'pathname' | 'search'>
  readonly history: Pick<History, 'replaceState'>
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
}

/**
 * Moves the token from the URL, where others could read or copy it, to the storage. If the URL contains no token,
 * returns the stored token.
 */
export function takeToken({ location, history, storage }: TokenSources): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return storage.getItem(STORAGE_KEY) ?? undefined
  storage.setItem(STORAGE_KEY, token)
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

export const saveToken = (token: string, { storage }: Pick<TokenSources, 'storage'>): void =>
  storage.setItem(STORAGE_KEY, token)
