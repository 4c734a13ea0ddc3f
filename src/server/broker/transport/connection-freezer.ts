import { type Server, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Connections that wait to be served, as many as a system keeps for a process that does not take them. */
export const MAX_QUEUED_CONNECTIONS = 511

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
  #thawTasks: (() => void)[] | undefined
  #allowsDestroy = false

  constructor(servers: readonly Server[]) {
    this.#servers = servers
    for (const server of servers) server.on(connectionEvent(server), (socket: Socket) => this.#track(socket))
  }

  /** Nothing moves from now on, until {@link thaw}. */
  freeze(): void {
    this.#thawTasks ??= [
      ...Array.from(this.#sockets, socket => this.#freezeSocket(socket)),
      ...this.#servers.map(server => this.#freezeServer(server)),
    ]
  }

  /** Everything goes on where it stood. */
  thaw(): void {
    const tasks = this.#thawTasks ?? []
    this.#thawTasks = undefined
    for (const task of tasks) task()
  }

  /** Runs a task that may end connections although they are held. */
  runWithDestroy(task: () => void): void {
    this.#allowsDestroy = true
    try {
      task()
    } finally {
      this.#allowsDestroy = false
    }
  }

  /** Cuts all connections; what was held for them is lost. */
  destroy(): void {
    this.runWithDestroy(() => {
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
  #freezeSocket(socket: Socket): () => void {
    const deferred: (() => void)[] = []
    // Not bound: it is these that are put back.
    const { push, destroy, end }: Pick<Socket, 'push' | 'destroy' | 'end'> = socket
    const defer = (method: Method, args: unknown[]): void => {
      deferred.push(() => Reflect.apply(method, socket, args))
    }
    Object.assign(socket, {
      // What the system has read; `false` asks for no more.
      push(...args: unknown[]): boolean {
        defer(push, args)
        return false
      },
      destroy: (...args: unknown[]): Socket => {
        if (this.#allowsDestroy) Reflect.apply(destroy, socket, args)
        else defer(destroy, args)
        return socket
      },
      // It would send what is corked.
      end(...args: unknown[]): Socket {
        defer(end, args)
        return socket
      },
    })
    socket.cork()
    return () => {
      Object.assign(socket, { push, destroy, end })
      socket.uncork()
      for (const task of deferred) if (!socket.destroyed) task()
    }
  }

  /** Keeps a server from hearing of connections. */
  #freezeServer(server: Server): () => void {
    const { emit }: Pick<Server, 'emit'> = server
    const queued = new Map<Socket, string>()
    Object.assign(server, {
      emit(event: string, ...args: unknown[]): unknown {
        const [socket] = args
        if (!CONNECTION_EVENTS.has(event) || !(socket instanceof Socket))
          return Reflect.apply(emit, server, [event, ...args])
        if (queued.size >= MAX_QUEUED_CONNECTIONS) socket.destroy()
        else queueConnection(socket, event, queued)
        return true
      },
    })
    return () => {
      Object.assign(server, { emit })
      for (const [socket, event] of queued) {
        socket.off('error', ignore)
        server.emit(event, socket)
      }
    }
  }
}

/** A connection may break while it waits. */
function queueConnection(socket: Socket, event: string, queued: Map<Socket, string>): void {
  queued.set(socket, event)
  socket.on('error', ignore)
  socket.once('close', () => queued.delete(socket))
}

const ignore = (): void => undefined
