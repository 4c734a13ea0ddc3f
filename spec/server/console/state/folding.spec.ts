import { describe, expect, it } from 'vitest'
import { Folding } from '../../../../console/src/state/folding.js'

class FakeStorage {
  text: string | null = null
  readonly getItem = () => this.text
  readonly setItem = (_: string, text: string) => {
    this.text = text
  }
}

describe('Open branches of the tree', () => {
  it('open branches are remembered across reloads', () => {
    const stored = new FakeStorage()
    const folding = new Folding(stored)
    folding.toggle(['line-1/'])
    folding.setOpen(['a/', 'a/b/'], true, false)
    folding.setOpen(['a/'], false, false)
    expect(new Folding(stored).fold$.value).toEqual({ tree: true, open: ['line-1/', 'a/b/'], closed: [] })
  })

  it('branches that are closed during a search are open again after the search', () => {
    const stored = new FakeStorage()
    const folding = new Folding(stored)
    folding.setOpen(['a/', 'b/'], false, true)
    folding.setOpen(['b/'], true, true)
    expect(folding.fold$.value).toEqual({ tree: false, open: [], closed: ['a/'] })
    expect(new Folding(stored).fold$.value.closed).toEqual([])
    folding.clearClosed()
    expect(folding.fold$.value.closed).toEqual([])
  })

  it('only the most recently opened branches are remembered, up to a limit', () => {
    const stored = new FakeStorage()
    const folding = new Folding(stored)
    const many = Array.from({ length: 700 }, (_, i) => `${i}/`)
    folding.setOpen([...many, `${'x'.repeat(501)}/`], true, false)
    expect(new Folding(stored).fold$.value.open).toEqual(many.slice(200))
  })

  it.each([null, '', 'nonsense', 'null', '7', '[]', '{"tree":1,"open":{}}', '{"open":[7,null]}'])(
    'the stored text %s restores no open branches',
    text => {
      const stored = new FakeStorage()
      stored.text = text
      expect(new Folding(stored).fold$.value).toEqual({ tree: false, open: [], closed: [] })
    },
  )
})
