import { describe, expect, it } from 'vitest'
import { saveToken, type TokenSources, takeToken } from '../../../../console/src/api/token.js'

/** A window at an address, with what was stored before. */
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

describe('The token', () => {
  it('is taken out of the address, and there after a reload', () => {
    const { place, location } = windowAt('#token=s3cr-et_')
    expect(takeToken(place)).toBe('s3cr-et_')
    expect(location.hash).toBe('')
    expect(takeToken(place)).toBe('s3cr-et_')
  })

  it('in the address counts more than the one of before', () => {
    const { place } = windowAt('#token=new')
    saveToken('old', place)
    expect(takeToken(place)).toBe('new')
  })

  it('is none when there is none, and the rest of the address stays', () => {
    const { place, location } = windowAt('#/keys')
    expect(takeToken(place)).toBeUndefined()
    expect(location.hash).toBe('#/keys')
  })
})
