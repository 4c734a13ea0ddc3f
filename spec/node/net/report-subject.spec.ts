import { map, merge } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { guard, ReportSubject } from '../../../src/node/net/report-subject.js'
import { recordWarnings } from '../../support/process-warnings.js'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const fail = (text: string) => (): never => {
  throw new RangeError(text)
}

const open = () => {
  const reports$ = new ReportSubject<string>(count => `${count} more`)
  const got: string[] = []
  reports$.asObservable().subscribe({ next: report => got.push(report), complete: () => got.push('completed') })
  return { reports$, got }
}

describe('ReportSubject', () => {
  it('reports are emitted after the turn in which they are made, in order', async () => {
    const { reports$, got } = open()
    for (const report of ['a', 'b']) reports$.next(report)
    expect(got).toEqual([])
    await turn()
    expect(got).toEqual(['a', 'b'])
  })

  it('a report from the end of the stack reaches its subscriber', async () => {
    const { reports$, got } = open()
    const descend = (): number => 1 + descend()
    try {
      descend()
    } catch {
      reports$.next('the stack is used up')
    }
    await turn()
    expect(got).toEqual(['the stack is used up'])
  })

  it('the subject completes after the reports that were made before', async () => {
    const { reports$, got } = open()
    reports$.next('a')
    reports$.complete()
    reports$.next('b')
    await turn()
    expect(got).toEqual(['a', 'completed'])
  })

  it('beyond 1,000 reports in one turn, one report has the number of the others', async () => {
    const { reports$, got } = open()
    for (let n = 0; n < 1_005; n++) reports$.next(`${n}`)
    await turn()
    expect([got.length, got.at(-2), got.at(-1)]).toEqual([1_001, '999', '5 more'])
    reports$.next('later')
    await turn()
    expect(got.at(-1)).toBe('later')
  })

  it('a subscriber that throws gets later reports, and its error is a process warning, once', async () => {
    const texts = recordWarnings()
    const { reports$, got } = open()
    let calls = 0
    reports$.asObservable().subscribe(() => {
      calls++
      fail('fault of a subscriber')()
    })
    for (const report of ['a', 'b']) reports$.next(report)
    await turn()
    expect([got, calls, texts.length]).toEqual([['a', 'b'], 2, 1])
    expect(texts[0]).toContain('fault of a subscriber')
  })
})

describe('guard', () => {
  it.each<[string, (reports$: ReportSubject<string>) => unknown]>([
    ['next', reports$ => guard(reports$).subscribe(fail('next'))],
    ['an observer', reports$ => guard(reports$).subscribe({ next: fail('observer') })],
    ['complete', reports$ => guard(reports$).subscribe({ complete: fail('complete') })],
    [
      'an operator',
      reports$ =>
        guard(reports$)
          .pipe(map(fail('operator')))
          .subscribe(),
    ],
    ['next after operators', reports$ => guard(reports$).pipe(map(String), map(String)).subscribe(fail('pipeline'))],
  ])('an error of %s is a process warning', async (_, subscribe) => {
    const texts = recordWarnings()
    const { reports$ } = open()
    subscribe(reports$)
    reports$.next('a')
    reports$.complete()
    await turn()
    expect(texts).toHaveLength(1)
  })

  it('an error of the source reaches the subscriber that handles it', () => {
    const causes: unknown[] = []
    const source$ = merge(new ReportSubject<string>(String)).pipe(map(String))
    const subject = new ReportSubject<string>(String)
    guard(merge(source$, subject)).subscribe({ error: cause => causes.push(cause) })
    subject.error('broken')
    expect(causes).toEqual(['broken'])
  })
})
