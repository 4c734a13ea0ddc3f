/** Default deadline, ms. Even a loaded machine needs far less. */
const DEADLINE = 60_000

/**
 * Settles as the promise does. If the promise is still pending at the deadline, rejects with an error that names
 * `what`.
 *
 * @template T
 * @param {PromiseLike<T>} promise @param {string} what @param {number} [deadlineMs]
 * @returns {Promise<T>}
 */
export async function within(promise, what, deadlineMs = DEADLINE) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${deadlineMs} ms for ${what}`)), deadlineMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
