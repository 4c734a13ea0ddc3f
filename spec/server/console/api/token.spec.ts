import { describe, expect, it } from 'vitest'
import { saveToken, type TokenSources, takeToken } from '../../../../console/src/api/token.js'

/** A window with a URL and stored items. */
function windowAt(hash: string, stored: Record<string, string> = {}) {
  const location = { hash, pathname: '/', search: '?a=b' }
  const kept = new Map(Object.entries(stored))
  const place: TokenSources = {
    location,
    history: {
      replaceState: (_data, _unused, url) => {
        location.hash = ''
        expect(url).toBe('/?a=b')
      },
    },
    storage: { getItem: key => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) },
  }
  return { place, location, kept }
}

describe('The token of the page', () => {
  it('the token is removed from the URL and available after a reload', () => {
    const { place, location } = windowAt('#token=s3cr-et_')
    expect(takeToken(place)).toBe('s3cr-et_')
    expect(location.hash).toBe('')
    expect(takeToken(place)).toBe('s3cr-et_')
  })

  it('a token in the URL replaces the stored one', () => {
    const { place } = windowAt('#token=new')
    saveToken('old', place)
    expect(takeToken(place)).toBe('new')
  })

  it('without a token the result is undefined and the URL is unchanged', () => {
    const { place, location } = windowAt('#/keys')
    expect(takeToken(place)).toBeUndefined()
    expect(location.hash).toBe('#/keys')
  })
})
