import { fork } from 'node:child_process'

/**
 * A process of our own, asked over IPC: one question at a time, one answer to each.
 *
 * @typedef {object} Child
 * @property {unknown} ready - what it said when it was ready
 * @property {(question: object) => Promise<unknown>} ask
 * @property {number} pid
 * @property {() => Promise<void>} close
 * @property {() => Promise<void>} kill - as a power cut does
 */

/**
 * Starts a script next to this one, so that what is measured has a core of its own.
 *
 * @param {string} script
 * @param {readonly string[]} [args]
 * @returns {Promise<Child>}
 */
export async function start(script, args = []) {
  const child = fork(new URL(script, import.meta.url).pathname, args, { execArgv: ['--expose-gc'] })
  const exited = new Promise(resolve => child.once('exit', resolve))
  const answer = () =>
    new Promise((resolve, reject) => {
      const died = () => reject(new Error(`${script} ended before it answered`))
      child.once('exit', died)
      child.once('message', message => {
        child.off('exit', died)
        resolve(message)
      })
    })
  return {
    ready: await answer(),
    pid: child.pid ?? 0,
    ask: question => {
      const answered = answer()
      child.send(question)
      return answered
    },
    close: async () => {
      child.disconnect()
      await exited
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/**
 * A store in a process of its own.
 *
 * @param {string} [directory] - of another checkout that is built, instead of this one
 * @param {string} [data] - where it keeps its keys, for a durable one
 * @returns {Promise<Child & { url: string }>}
 */
export async function startStore(directory, data) {
  const child = await start('./store-process.js', [directory ?? '', data ?? ''])
  return { ...child, url: String(child.ready) }
}

/**
 * Bytes a child holds after a collection of garbage, buffers outside of the heap included.
 *
 * @param {Child} child
 */
export const heapOf = async child => Number(await child.ask({ type: 'heap' }))
