import type { Attributes } from '@opentelemetry/api'

/** Value of `db.system.name`, for which the conventions have no name of this store. */
const SYSTEM = 'rx-statestore'

/** Attributes of the stable semantic conventions for databases. */
export const ATTRIBUTE = {
  system: 'db.system.name',
  operation: 'db.operation.name',
  query: 'db.query.text',
  statusCode: 'db.response.status_code',
  errorType: 'error.type',
  address: 'server.address',
  port: 'server.port',
} as const

export const operationAttributes = (verb: string | undefined): Attributes => ({
  [ATTRIBUTE.system]: SYSTEM,
  ...(verb !== undefined && { [ATTRIBUTE.operation]: verb }),
})

/** Returns a broker's address as attributes; none for an unknown address. */
export function addressAttributes(url: string | undefined): Attributes {
  if (url === undefined || !URL.canParse(url)) return {}
  const { hostname, port } = new URL(url)
  return { [ATTRIBUTE.address]: hostname, ...(port !== '' && { [ATTRIBUTE.port]: Number(port) }) }
}

/**
 * Returns a request as text, with `?` for values.
 *
 * @param target - the key or the glob
 */
export function queryText(verb: string, target: string): string {
  return verb === 'SET' || verb === 'VDEL' ? `${verb} ${target} ?` : `${verb} ${target}`
}
