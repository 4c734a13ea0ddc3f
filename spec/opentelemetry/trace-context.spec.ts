import { createTraceState, type Span, trace } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { readSpanContext, writeSpanContext } from '../../src/opentelemetry/trace-context.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('W3C Trace Context in user properties', () => {
  it('is read as the span that was written', () => {
    const span: Span = trace.wrapSpanContext({
      traceId: TRACE,
      spanId: SPAN,
      traceFlags: 1,
      traceState: createTraceState('vendor=1'),
    })
    const properties: Record<string, string> = {}
    writeSpanContext(span, properties)
    expect(properties).toEqual({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: 'vendor=1' })
    const read = trace.getSpanContext(readSpanContext(properties['traceparent'], properties['tracestate']))
    expect(read).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true })
    expect(read?.traceState?.serialize()).toBe('vendor=1')
  })

  it('W3C Trace Context of a later version is read, and its further fields are ignored', () => {
    const read = trace.getSpanContext(readSpanContext(`01-${TRACE}-${SPAN}-01-more`, undefined))
    expect(read).toMatchObject({ traceId: TRACE, spanId: SPAN })
  })

  it.each([
    undefined,
    '',
    'nonsense',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  ])('%j names no span', traceparent => {
    expect(trace.getSpanContext(readSpanContext(traceparent, undefined))).toBeUndefined()
  })

  it('is not written for an invalid span', () => {
    const properties: Record<string, string> = {}
    writeSpanContext(trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 }), properties)
    expect(properties).toEqual({})
  })
})
