/**
 * Imports a client from the folder next to this file, which has a lock file of its own. The type is whatever the caller
 * says it uses of it: the packages need not be there for the rest to be checked.
 *
 * @template T
 * @param {string} name
 * @returns {Promise<T>}
 */
export async function load(name) {
  try {
    return await import(name)
  } catch (cause) {
    if (Object(cause).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Error(`its client is not installed: npm run bench:clients`, { cause })
  }
}
