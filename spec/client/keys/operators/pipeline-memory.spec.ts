import fc from 'fast-check'
import { NEVER, type Observable, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { pipeline } from '../../../../src/client/keys/operators/pipeline.js'
import { effort } from '../../../support/effort.js'
import { Witness } from '../../../support/garbage.js'

interface Item {
  readonly key: number
}

const keyOf = ({ key }: Item): number => key

/** A pipeline with `latest` whose first request never ends, and the other items it has requested. */
function stuck(isStuck: (key: number) => boolean, options: { concurrency: number; buffer: number }) {
  const source = new Subject<Item>()
  const failures: unknown[] = []
  const request = ({ key }: Item): Observable<number> => (isStuck(key) ? NEVER : of(key))
  const subscription = source
    .pipe(pipeline(request, keyOf, { ...options, latest: true }))
    .subscribe({ error: error => failures.push(error) })
  return { source, failures, subscription }
}

describe('memory of a pipeline with `latest` while its first request is pending', () => {
  it('the pipeline retains only the newest item of the key', async () => {
    const witness = new Witness()
    const { source, failures, subscription } = stuck(() => true, { concurrency: 1, buffer: 10 })
    for (let i = 0; i < 100_000; i++) source.next(witness.see({ key: 0 }))
    expect(failures).toEqual([])
    expect(await witness.alive()).toBeLessThanOrEqual(2)
    subscription.unsubscribe()
  })

  it('the pipeline never retains more than the requests in flight plus the buffer', async () => {
    const keys = fc.array(fc.nat(8), { minLength: 100, maxLength: 2_000 })
    await fc.assert(
      fc.asyncProperty(keys, fc.integer({ min: 1, max: 4 }), async (sequence, concurrency) => {
        const witness = new Witness()
        // At most one item of each of the nine keys is queued. Otherwise the results behind the stuck keys would
        // overflow the buffer.
        const { source, subscription } = stuck(key => key < 5, { concurrency, buffer: 20 })
        for (const key of sequence) source.next(witness.see({ key }))
        expect(await witness.alive()).toBeLessThanOrEqual(concurrency + 20 + 1)
        subscription.unsubscribe()
      }),
      { numRuns: effort(20, 2) },
    )
  })
})
