import type { ChildProcess } from 'node:child_process'

/** Kills a process without a warning. Resolves when it is gone. */
export const end = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('close', () => resolve())
    child.kill('SIGKILL')
  })

/** The next message of a process. */
export const answerOf = (child: ChildProcess, timeout: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new Error(`The store did not answer in ${timeout} ms`))),
      timeout,
    )
    const answered = (message: unknown) => settle(() => resolve(message))
    const exited = () => settle(() => reject(new Error('The store ended')))
    const settle = (outcome: () => void) => {
      clearTimeout(timer)
      child.off('message', answered).off('exit', exited)
      outcome()
    }
    child.on('message', answered).on('exit', exited)
  })
