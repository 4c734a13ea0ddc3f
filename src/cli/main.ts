#!/usr/bin/env node
// Before anything else is loaded, which takes a while: a SIGHUP asks a service to read files again, and never ends one.
if (process.argv.slice(2).some(word => word === 'serve' || word === 'attach')) process.on('SIGHUP', () => undefined)
const { unlessDone } = await import('../core/util/clock.js')
const { processIo } = await import('./io.js')
const { run } = await import('./run.js')

const code = await run(process.argv.slice(2), processIo())
process.exitCode = code
// Not at once, which would cut off output on its way into a pipe. What a library has left open, such as a connection to a
// server that hangs, must not keep a process that is done.
const end = (): void => unlessDone(1_000, () => process.exit(code))
const flushed = (output: NodeJS.WriteStream, next: () => void): void => {
  if (output.writable) output.write('', next)
  else next()
}
flushed(process.stdout, () => flushed(process.stderr, end))
