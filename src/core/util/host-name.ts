const HOST = /^(\[[0-9a-f:.]{2,45}\]|[0-9a-z._-]{1,253})(:[0-9]{1,5})?$/
const ADDRESS = /^(\[[0-9a-f:.]+\]|(\d{1,3}\.){3}\d{1,3})$/

/** The name or address in a `Host` header, without the port, in lower case; `undefined` when it is neither. */
export const nameOf = (host: string): string | undefined => HOST.exec(host.toLowerCase())?.[1]

/** Whether a name is an address, which cannot be made to point somewhere else. */
export const isAddress = (name: string): boolean => ADDRESS.test(name)

/** Whether a name stands for this machine wherever it is used. */
export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)
