import { fork } from 'node:child_process'

const BENCH = new URL('../', import.meta.url)

/**
 * A child process that handles one IPC request at a time.
 *
 * @typedef {object} Child
 * @property {unknown} ready - the first message of the child
 * @property {(request: object) => Promise<unknown>} ask
 * @property {number} pid
 * @property {() => Promise<void>} close
 * @property {() => Promise<void>} kill - without cleanup, like a power failure
 */

/**
 * Starts a script of `bench` as a separate process, so that the script can use another core.
 *
 * @param {string} script
 * @param {readonly string[]} [args]
 * @returns {Promise<Child>}
 */
export async function start(script, args = []) {
  const child = fork(new URL(script, BENCH).pathname, args, { execArgv: ['--expose-gc'] })
  const exited = new Promise(resolve => child.once('exit', resolve))
  const nextResponse = () =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`${script} exited before it responded`))
      child.once('exit', onExit)
      child.once('message', message => {
        child.off('exit', onExit)
        resolve(message)
      })
    })
  return {
    ready: await nextResponse(),
    pid: child.pid ?? 0,
    ask: request => {
      const response = nextResponse()
      child.send(request)
      return response
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
 * Starts a store as a separate process.
 *
 * @param {string} [directory] - another built checkout to run instead of this one
 * @param {string} [data] - directory for the keys of a durable store
 * @returns {Promise<Child & { url: string }>}
 */
export async function startStore(directory, data) {
  const child = await start('./store-process.js', [directory ?? '', data ?? ''])
  return { ...child, url: String(child.ready) }
}

/**
 * Returns the memory of a child after garbage collection, bytes, including buffers outside the heap.
 *
 * @param {Child} child
 */
export const heapOf = async child => Number(await child.ask({ type: 'heap' }))
