/** What it takes to get a session back. */
export interface SessionKey {
  readonly connectionId: string
  readonly token: string
}

const REPLACED = /^(access_token|awps_connection_id|awps_reconnection_token)(=|$)/

/** Whether a text is an absolute `ws:` or `wss:` URL. */
export function isWebSocketUrl(url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  return ['ws:', 'wss:'].includes(new URL(url).protocol)
}

/**
 * The URL that recovers a session: the one it was opened with, and its id and reconnection token percent-encoded. The
 * access token stays behind: it is neither needed nor looked at, may have expired, and need not lie in one more log.
 * ("Reconnection"; a hub named by `?hub=` has to stay.)
 */
export function recoveryUrl(url: string, { connectionId, token }: SessionKey): string {
  const target = new URL(url)
  const kept = target.search.slice(1).split('&')
  target.search = [
    ...kept.filter(parameter => parameter !== '' && !REPLACED.test(parameter)),
    `awps_connection_id=${encodeURIComponent(connectionId)}`,
    `awps_reconnection_token=${encodeURIComponent(token)}`,
  ].join('&')
  return target.href
}
