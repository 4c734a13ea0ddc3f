import { mkdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { RunningProgram } from './running-program.js'
import { temporaryFolder } from './temporary-folder.js'

/** Returns whether a server listens on the port. */
const listens = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/**
 * Runs nginx with the given `http` block until the end of the test. Resolves when nginx listens.
 *
 * @param files - files to write next to the configuration
 */
export async function runNginx(http: string, port: number, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'logs'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const tempPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${name};`)
  const head = 'daemon off; master_process off; pid nginx.pid; error_log stderr; events {}'
  await writeFile(join(folder, 'nginx.conf'), `${head}\nhttp { access_log off; ${tempPaths.join(' ')}\n${http}\n}`)
  const program = new RunningProgram('nginx', ['-p', folder, '-c', 'nginx.conf'])
  onTestFinished(async () => {
    await program.end('SIGTERM')
    await rm(folder, { recursive: true })
  })
  while (!(await listens(port))) if (!program.isRunning) await program.ended
}
