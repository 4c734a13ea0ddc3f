/**
 * Builds a stream that gives each address of a host name this time, see `addressTimeout`.
 *
 * mqtt.js passes no options to the socket of `mqtt:`. So the default of Node is changed while the stream is built, in
 * which time no other code runs. Without Node, only builds the stream.
 */
export function withAddressTimeout<T>(timeoutMs: number, build: () => T): T {
  const net = globalThis.process?.getBuiltinModule?.('net')
  const usual = net?.getDefaultAutoSelectFamilyAttemptTimeout?.()
  if (net === undefined || usual === undefined) return build()
  net.setDefaultAutoSelectFamilyAttemptTimeout(timeoutMs)
  try {
    return build()
  } finally {
    net.setDefaultAutoSelectFamilyAttemptTimeout(usual)
  }
}
