const HOST = /^(\[[0-9a-f:.]{2,45}\]|[0-9a-z._-]{1,253})(:[0-9]{1,5})?$/
const ADDRESS = /^(\[[0-9a-f:.]+\]|(\d{1,3}\.){3}\d{1,3})$/

/**
 * Returns the name or address in a `Host` header, in lower case and without the port, or `undefined` for a malformed
 * header.
 */
export const nameOf = (host: string): string | undefined => HOST.exec(host.toLowerCase())?.[1]

/** Returns whether a name is an address, which DNS cannot redirect. */
export const isAddress = (name: string): boolean => ADDRESS.test(name)

/** Returns whether a name always means this machine. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)
