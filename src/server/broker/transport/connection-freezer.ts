import { type Server, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Connections that wait to be served, as many as a system keeps for a process that does not take them. */
export const MOST_WAITING = 511

/** What tells of a connection over which something can be said. */
export const connectionEvent = (server: Server): string =>
  server instanceof TlsServer ? 'secureConnection' : 'connection'

const CONNECTION_EVENTS: ReadonlySet<string> = new Set(['connection', 'secureConnection'])

type Method = (...args: never[]) => unknown

/**
 * All connections of some servers, to stand still as those of a process that is stopped: they stay open, and nothing is
 * read or written; new ones are taken by the system and wait. What a connection has read at the time stays in memory, as
 * does at most one more piece of what comes.
 */
export class ConnectionFreezer {
  readonly #servers: readonly Server[]
  readonly #sockets = new Set<Socket>()
  /** What lets each socket and server go on; undefined while nothing is held. */
  #releases: (() => void)[] | undefined
  #passing = false

  constructor(servers: readonly Server[]) {
    this.#servers = servers
    for (const server of servers) server.on(connectionEvent(server), (socket: Socket) => this.#track(socket))
  }

  /** Nothing moves from now on, until {@link thaw}. */
  freeze(): void {
    this.#releases ??= [
      ...Array.from(this.#sockets, socket => this.#hold(socket)),
      ...this.#servers.map(server => this.#holdNew(server)),
    ]
  }

  /** Everything goes on where it stood. */
  thaw(): void {
    const releases = this.#releases ?? []
    this.#releases = undefined
    for (const release of releases) release()
  }

  /** Runs a task that may end connections although they are held. */
  pass(task: () => void): void {
    this.#passing = true
    try {
      task()
    } finally {
      this.#passing = false
    }
  }

  /** Cuts all connections; what was held for them is lost. */
  destroy(): void {
    this.pass(() => {
      for (const socket of this.#sockets) socket.destroy()
    })
    this.thaw()
    for (const socket of this.#sockets) socket.destroy()
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }

  /** Replaces the methods by which a socket reads and ends; what it would have done is done in order afterwards. */
  #hold(socket: Socket): () => void {
    const held: (() => void)[] = []
    // Not bound: it is these that are put back.
    const { push, destroy, end }: Pick<Socket, 'push' | 'destroy' | 'end'> = socket
    const later = (method: Method, args: unknown[]): void => {
      held.push(() => Reflect.apply(method, socket, args))
    }
    Object.assign(socket, {
      // What the system has read; `false` asks for no more.
      push(...args: unknown[]): boolean {
        later(push, args)
        return false
      },
      destroy: (...args: unknown[]): Socket => {
        if (this.#passing) Reflect.apply(destroy, socket, args)
        else later(destroy, args)
        return socket
      },
      // It would send what is corked.
      end(...args: unknown[]): Socket {
        later(end, args)
        return socket
      },
    })
    socket.cork()
    return () => {
      Object.assign(socket, { push, destroy, end })
      socket.uncork()
      for (const task of held) if (!socket.destroyed) task()
    }
  }

  /** Keeps a server from hearing of connections. */
  #holdNew(server: Server): () => void {
    const { emit }: Pick<Server, 'emit'> = server
    const waiting = new Map<Socket, string>()
    Object.assign(server, {
      emit(event: string, ...args: unknown[]): unknown {
        const [socket] = args
        if (!CONNECTION_EVENTS.has(event) || !(socket instanceof Socket))
          return Reflect.apply(emit, server, [event, ...args])
        if (waiting.size >= MOST_WAITING) socket.destroy()
        else wait(socket, event, waiting)
        return true
      },
    })
    return () => {
      Object.assign(server, { emit })
      for (const [socket, event] of waiting) {
        socket.off('error', ignore)
        server.emit(event, socket)
      }
    }
  }
}

/** A connection may break while it waits. */
function wait(socket: Socket, event: string, waiting: Map<Socket, string>): void {
  waiting.set(socket, event)
  socket.on('error', ignore)
  socket.once('close', () => waiting.delete(socket))
}

const ignore = (): void => undefined
