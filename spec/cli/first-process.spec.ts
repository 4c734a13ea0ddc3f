import { EventEmitter } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { endOnUnhandledSignals } from '../../src/cli/first-process.js'

function processWith(pid: number) {
  const process = Object.assign(new EventEmitter(), { pid, exit: vi.fn<NodeJS.Process['exit']>() })
  return process
}

describe('A signal while no command handles it', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ])('ends the first process of a container: %s', (signal, code) => {
    const process = processWith(1)
    endOnUnhandledSignals(Object.assign(process))
    process.emit(signal)
    expect(process.exit).toHaveBeenCalledWith(code)
  })

  it('is left to the command once it handles the signal', () => {
    const process = processWith(1)
    endOnUnhandledSignals(Object.assign(process))
    process.on('SIGTERM', () => undefined)
    process.emit('SIGTERM')
    expect(process.exit).not.toHaveBeenCalled()
  })

  it('is left to the kernel in every other process', () => {
    const process = processWith(2)
    endOnUnhandledSignals(Object.assign(process))
    expect(process.listenerCount('SIGTERM')).toBe(0)
  })
})
