/**
 * Kills a process without a warning. Resolves when it is gone.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<void>}
 */
export const end = child =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('close', () => resolve())
    child.kill('SIGKILL')
  })

/**
 * The next message of a process.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} timeout
 * @returns {Promise<unknown>}
 */
export const answerOf = (child, timeout) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new Error(`The store did not answer in ${timeout} ms`))),
      timeout,
    )
    const answered = (/** @type {unknown} */ message) => settle(() => resolve(message))
    const exited = () => settle(() => reject(new Error('The store ended')))
    const settle = (/** @type {() => void} */ outcome) => {
      clearTimeout(timer)
      child.off('message', answered).off('exit', exited)
      outcome()
    }
    child.on('message', answered).on('exit', exited)
  })
