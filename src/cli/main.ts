#!/usr/bin/env node
import { endOnUnhandledSignals } from './first-process.js'

// These come before the slow imports. SIGHUP reloads the files of a service and must not end it even while it starts.
endOnUnhandledSignals(process)
if (process.argv.slice(2).some(word => word === 'serve' || word === 'attach')) process.on('SIGHUP', () => undefined)
const { processIo } = await import('./io.js')
const { run } = await import('./run.js')

const code = await run(process.argv.slice(2), processIo())
process.exitCode = code
// Ends the process after output is flushed, which a pipe may delay. The exit is forced because open handles of a
// library, such as a connection to an unresponsive server, would keep the process running.
const flushed = (output: NodeJS.WriteStream, next: () => void): void => {
  if (output.writable) output.write('', next)
  else next()
}
flushed(process.stdout, () => flushed(process.stderr, () => process.exit(code)))
