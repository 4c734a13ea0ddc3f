import {
  type Context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace,
} from '@opentelemetry/api'
import { TRACE_PROPERTY } from '../core/protocol/properties.js'

/** W3C Trace Context, version 00: trace id, span id and flags. Later versions may append fields. */
const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/
const INVALID_VERSION = 'ff'

/** Sets the user properties of W3C Trace Context for MQTT to a span. */
export function writeSpanContext(span: Span, properties: Record<string, string>): void {
  const spanContext = span.spanContext()
  if (!isSpanContextValid(spanContext)) return
  const { traceId, spanId, traceFlags, traceState } = spanContext
  properties[TRACE_PROPERTY.parent] = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const state = traceState?.serialize() ?? ''
  if (state !== '') properties[TRACE_PROPERTY.state] = state
}

/** Returns a context with the span that user properties name as parent; without a valid one, a context without a span. */
export function readSpanContext(traceparent: string | undefined, tracestate: string | undefined): Context {
  const spanContext = parse(traceparent, tracestate)
  return spanContext === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContext)
}

function parse(traceparent: string | undefined, tracestate: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (version === undefined || version === INVALID_VERSION || (version === '00' && rest !== undefined)) return undefined
  const traceState = tracestate === undefined ? undefined : createTraceState(tracestate)
  const spanContext: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(traceState && { traceState }),
  }
  return isSpanContextValid(spanContext) ? spanContext : undefined
}
