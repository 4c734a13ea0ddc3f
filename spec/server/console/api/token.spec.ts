import { describe, expect, it } from 'vitest'
import { saveToken, type TokenSources, takeToken } from '../../../../console/src/api/token.js'

/** Returns a window with a URL and stored items. */
function windowAt(hash: string, stored: Record<string, string> = {}) {
  const location = { hash, pathname: '/', search: '?a=b' }
  const items = new Map(Object.entries(stored))
  const window: TokenSources = {
    location,
    history: {
      replaceState: (_data, _unused, url) => {
        location.hash = ''
        expect(url).toBe('/?a=b')
      },
    },
    storage: { getItem: key => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) },
  }
  return { window, location }
}

describe('The token of the page', () => {
  it('the token is removed from the URL and available after a reload', () => {
    const { window, location } = windowAt('#token=s3cr-et_')
    expect(takeToken(window)).toBe('s3cr-et_')
    expect(location.hash).toBe('')
    expect(takeToken(window)).toBe('s3cr-et_')
  })

  it('a token in the URL replaces the stored token', () => {
    const { window } = windowAt('#token=new')
    saveToken('old', window)
    expect(takeToken(window)).toBe('new')
  })

  it('without a token, the result is undefined and the URL is unchanged', () => {
    const { window, location } = windowAt('#/keys')
    expect(takeToken(window)).toBeUndefined()
    expect(location.hash).toBe('#/keys')
  })
})
