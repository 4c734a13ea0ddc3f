import { describe, expect, it } from 'vitest'
import { Folding } from '../../../../console/src/state/folding.js'

class Kept {
  text: string | null = null
  readonly getItem = () => this.text
  readonly setItem = (_: string, text: string) => {
    this.text = text
  }
}

describe('What is open of the tree', () => {
  it('is remembered', () => {
    const kept = new Kept()
    const folding = new Folding(kept)
    folding.toggle(['line-1/'])
    folding.setOpen(['a/', 'a/b/'], true, false)
    folding.setOpen(['a/'], false, false)
    expect(new Folding(kept).fold$.value).toEqual({ tree: true, open: ['line-1/', 'a/b/'], closed: [] })
  })

  it('is not what is closed while something is looked for', () => {
    const kept = new Kept()
    const folding = new Folding(kept)
    folding.setOpen(['a/', 'b/'], false, true)
    folding.setOpen(['b/'], true, true)
    expect(folding.fold$.value).toEqual({ tree: false, open: [], closed: ['a/'] })
    expect(new Folding(kept).fold$.value.closed).toEqual([])
    folding.clearClosed()
    expect(folding.fold$.value.closed).toEqual([])
  })

  it('is bounded: what was opened last counts', () => {
    const kept = new Kept()
    const folding = new Folding(kept)
    const many = Array.from({ length: 700 }, (_, i) => `${i}/`)
    folding.setOpen([...many, `${'x'.repeat(501)}/`], true, false)
    expect(new Folding(kept).fold$.value.open).toEqual(many.slice(200))
  })

  it.each([null, '', 'nonsense', 'null', '7', '[]', '{"tree":1,"open":{}}', '{"open":[7,null]}'])(
    'is nothing where the browser kept %s',
    text => {
      const kept = new Kept()
      kept.text = text
      expect(new Folding(kept).fold$.value).toEqual({ tree: false, open: [], closed: [] })
    },
  )
})
