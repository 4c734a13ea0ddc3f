import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from './listen.js'

/** A network between a client and a broker that a spec can break. It is a TCP proxy. */
export interface Link {
  readonly url: string
  /** The number of connections that were established since the start. */
  readonly connections: number
  /** Breaks all connections and refuses new connections. */
  cut(): void
  /** Breaks all connections on the client's side only. The broker's side stays open and does not notice. */
  hangUp(): void
  /** Accepts connections again. */
  restore(): void
  /** Buffers the bytes of one direction until {@link resume}. */
  stall(direction: 'up' | 'down'): void
  resume(): void
  /** Connects new connections to another broker. */
  redirect(url: string): void
}

/** Opens a link to the broker at `url`, which closes at the end of the test. */
export async function layLink(url: string): Promise<Link> {
  let target = new URL(url)
  let broken = false
  let connections = 0
  const pairs = new Set<{ readonly near: Socket; readonly far: Socket }>()
  const orphans = new Set<Socket>()
  const server = createServer({ noDelay: true }, near => {
    if (broken) {
      near.destroy()
      return
    }
    connections++
    const far = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    const pair = { near, far }
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      near.destroy()
      if (!orphans.has(far)) far.destroy()
    }
    for (const socket of [near, far]) socket.on('error', end).on('close', end)
    near.pipe(far).pipe(near)
  })
  const port = await listen(server)
  const cut = (): void => {
    broken = true
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
    for (const orphan of orphans) orphan.destroy()
  }
  onTestFinished(cut)
  return {
    url: `mqtt://127.0.0.1:${port}`,
    get connections() {
      return connections
    },
    cut,
    hangUp: () => {
      for (const { near, far } of pairs) {
        orphans.add(far)
        near.unpipe(far)
        far.unpipe(near)
        // Reads and discards remaining data, so that the end of the connection is detected.
        far.resume()
        near.destroy()
      }
    },
    restore: () => {
      broken = false
    },
    stall: direction => {
      for (const { near, far } of pairs) {
        if (direction === 'up') near.unpipe(far)
        else far.unpipe(near)
      }
    },
    resume: () => {
      for (const { near, far } of pairs) {
        // Data that is piped twice would arrive twice.
        near.unpipe(far)
        far.unpipe(near)
        near.pipe(far).pipe(near)
      }
    },
    redirect: elsewhere => {
      target = new URL(elsewhere)
    },
  }
}
