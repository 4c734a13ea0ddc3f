/**
 * An address of the broker as a browser that asked by this host name reaches it: to listen on all addresses is no
 * address.
 */
export const reachableBy = (url: string, hostName: string): string =>
  url.replace(/^(\w+:\/\/)(0\.0\.0\.0|\[::\])(?=:)/, `$1${hostName}`)

/**
 * What every answer has: the page may load itself and talk to us and to the broker, nothing may frame it, and it tells
 * nobody where it was.
 */
export function securityHeaders(wsUrl: string): Readonly<Record<string, string>> {
  // A policy cannot name an IPv6 address (Content Security Policy Level 3, host-source).
  const broker = wsUrl.replace(/^(wss?:\/\/)\[.*\]/, '$1*')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self' ${broker}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  }
}
