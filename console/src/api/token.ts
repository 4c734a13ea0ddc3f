const NAME = 'rx-statestore console token'

/** Where the token waits while the page is reloaded: in this window alone. */
export interface TokenPlace {
  readonly location: Pick<Location, 'hash' | 'pathname' | 'search'>
  readonly history: Pick<History, 'replaceState'>
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
}

/** Takes the token out of the address, where others might read or copy it; without one there, that of before. */
export function takeToken({ location, history, storage }: TokenPlace): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return storage.getItem(NAME) ?? undefined
  storage.setItem(NAME, token)
  history.replaceState(null, '', location.pathname + location.search)
  return token
}

/** Keeps a token that was typed. */
export const keepToken = (token: string, { storage }: Pick<TokenPlace, 'storage'>): void => storage.setItem(NAME, token)
