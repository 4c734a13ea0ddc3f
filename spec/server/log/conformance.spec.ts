import { rmSync } from 'node:fs'
import { firstValueFrom } from 'rxjs'
import { systemClock } from '../../../src/core/util/clock.js'
import { Engine } from '../../../src/server/engine/engine.js'
import { openNode } from '../../../src/server/log/cluster/open.js'
import { directoryFiles, type Files } from '../../../src/server/log/disk/files.js'
import { openLog } from '../../../src/server/log/disk/open.js'
import { MemoryLog } from '../../../src/server/log/log.js'
import { START } from '../../support/manual-clock.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { FakeCluster, FakeStream } from './cluster/fake-stream.js'
import { MemoryDisk } from './disk/memory-disk.js'
import { slowly } from './disk/run.js'
import { type LogTarget, logSuite, type OpenedTarget } from './log-suite.js'

const SIZES = { minLogBytes: 2_000, preallocateBytes: 1_000, steadyFlushes: 0 }

const openOn = async (files: Files, monotonic: () => number): Promise<OpenedTarget> =>
  openLog<never>(files, { now: () => START, monotonic, onError: raise, sizes: SIZES })

const raise = (trouble: unknown): never => {
  throw trouble
}

async function onDisk(monotonic: () => number): Promise<LogTarget> {
  const directory = temporaryFolder()
  const files = await directoryFiles(directory)
  return {
    open: async () => openOn(files, monotonic),
    isDurable: true,
    dispose: async () => rmSync(directory, { recursive: true }),
  }
}

async function onMemoryDisk(): Promise<LogTarget> {
  let disk = new MemoryDisk()
  return {
    open: async () => {
      // Discards unflushed data, as in a power cut.
      disk = disk.cut(() => 0)
      return openOn(disk, () => 0)
    },
    isDurable: true,
  }
}

async function inCluster(): Promise<LogTarget> {
  const cluster = new FakeCluster(systemClock)
  let epochs = 0
  const nothing = { onAvailability: raise, onFailed: raise, onError: raise }
  return {
    open: async () =>
      firstValueFrom(
        openNode<never>(new FakeStream(cluster), {
          limits: {},
          settings: { nodeId: 'a' },
          clock: systemClock,
          random: () => 0.5,
          newEpochId: () => `epoch-${++epochs}`,
          countClients: () => 0,
          events: { ...nothing, onOutrun: () => raise('outrun') },
        }),
      ),
    isDurable: true,
  }
}

logSuite('memory', async () => ({
  open: async () => ({ engine: new Engine<never>(), log: new MemoryLog() }),
  isDurable: false,
}))
logSuite('a stream that nodes share', async () => inCluster())
logSuite('a directory', async () => onDisk(() => performance.now()))
logSuite('a directory on a slow disk', async () => onDisk(slowly()))
logSuite('a directory, power cut before each start', onMemoryDisk)
