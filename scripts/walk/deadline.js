/** Default deadline, ms. Even a loaded machine needs far less. */
const DEADLINE = 60_000

/**
 * Resolves or rejects as the promise does. After the deadline, rejects with an error that contains `what`.
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
