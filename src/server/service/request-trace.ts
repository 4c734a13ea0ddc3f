import { serverRequestChannel } from '../../core/diagnostics/server-channels.js'
import type { ServerRequestTrace } from '../../core/diagnostics/server-events.js'
import type { Incoming } from '../../core/mqtt5/packets.js'
import { PROPERTY, singleText, TRACE_PROPERTY } from '../../core/protocol/properties.js'
import type { InvokeResponse, ParsedRequest } from './request-processor.js'

/** Returns the trace of a request that has just arrived. */
export function traceOf(
  clientId: string,
  { payload, userProperties }: Incoming,
  request: ParsedRequest,
  startedAt: number,
): ServerRequestTrace {
  const { command } = request
  return {
    clientId,
    startedAt,
    verb: command?.verb,
    key: command !== undefined && 'key' in command ? command.key : undefined,
    glob: command !== undefined && 'glob' in command ? command.glob : undefined,
    requestBytes: payload.length,
    traceparent: singleText(userProperties[TRACE_PROPERTY.parent]),
    tracestate: singleText(userProperties[TRACE_PROPERTY.state]),
    notificationProperties: {},
    outcome: 'pending',
    error: undefined,
    isRepeated: false,
    responseBytes: 0,
  }
}

/**
 * Publishes a request's outcome, then calls `deliver`, which sends the response and the notifications, and finally
 * publishes the end.
 */
export function settleTrace(trace: ServerRequestTrace, response: InvokeResponse, deliver: () => void): void {
  const { reply, repeated, payload, commonProperties } = response
  trace.outcome = reply?.type ?? 'rejected'
  if (reply === undefined) trace.error = commonProperties[PROPERTY.status]
  else if (reply.type === 'error') trace.error = reply.code
  trace.isRepeated = repeated === true
  trace.responseBytes = payload.length
  serverRequestChannel.settle(trace, trace.error !== undefined, deliver)
}
