/**
 * Imports a client that is installed in this folder, which has a separate lock file. The caller declares the type of
 * the client, so that types can be checked without the packages.
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
    throw new Error(`the client ${name} is not installed: run npm run bench:clients`, { cause })
  }
}
