import type { EntryCommand, LogEntry } from '../../../../src/server/engine/entry.js'
import { parseWriteCommand } from '../../../../src/server/engine/entry.js'
import type { LogSettings } from '../../../../src/server/log/cluster/settings.js'
import { ManualClock, START } from '../../../support/manual-clock.js'
import { bytes, resp3 } from '../../../support/words.js'
import { FakeCluster, FakeStream } from './fake-stream.js'
import { TestNode } from './node.js'

/** Nodes on one stream with virtual time. */
export class TestCluster {
  readonly clock = new ManualClock()
  readonly streams = new FakeCluster(this.clock)
  #epochCount = 0

  /** Starts a node, which opens some time later. */
  node(
    nodeId: string,
    settings: Partial<LogSettings> = {},
    stream = new FakeStream(this.streams),
  ): { readonly node: TestNode; readonly stream: FakeStream } {
    const node = new TestNode(stream, this.clock, { nodeId, ...settings }, () => `life-${++this.#epochCount}`)
    return { node, stream }
  }

  /** Starts a node and waits until it is open. */
  open(nodeId: string, settings: Partial<LogSettings> = {}, stream = new FakeStream(this.streams)) {
    const opened = this.node(nodeId, settings, stream)
    for (let waited = 0; opened.node.opened === undefined && waited < 1_000; waited++) this.clock.advance(10)
    return opened
  }
}

export const entryOf = (...commands: readonly EntryCommand[]): LogEntry => ({
  time: 1,
  maxKeys: 1_000,
  maxBytes: 10_000_000,
  commands,
})

export function write(...words: readonly string[]): EntryCommand {
  const payload = new Uint8Array(resp3([...words]))
  const command = parseWriteCommand(payload)
  if (command === undefined) throw new Error(`${words.join(' ')} is no write`)
  return { type: 'write', payload, command, timestamp: `${START}:0:client`, fencingToken: undefined, origin: undefined }
}

export const set = (key: string, value: string, ...more: readonly string[]): LogEntry =>
  entryOf(write('SET', key, value, ...more))

export const valueAt = (node: TestNode, key: string): string | undefined => {
  const record = node.engine.peek(new Uint8Array(bytes(key)))
  return record && Buffer.from(record.value).toString()
}
