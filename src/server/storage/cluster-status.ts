/** A node of a store, as another one knows it. */
export interface ClusterNode {
  readonly id: string
  /** How far it had applied the log when it was heard of last. */
  readonly position: number
  /** Clients that were connected to it then. */
  readonly clients: number
  /** When it was heard of last, by the log's time, ms since the Unix epoch; a node that runs is heard of every 3 s. */
  readonly seenAt: number
}

/** A store of several nodes, as one of them sees it; see {@link RunningStore.cluster}. */
export interface ClusterStatus {
  /** Of the store. */
  readonly name: string
  /** Of this node. */
  readonly nodeId: string
  /** How far this node has applied the log. */
  readonly position: number
  /** By how many messages it is behind what it knows to be in the log. */
  readonly lag: number
  /** Which NATS server leads the log, if that is known. */
  readonly leader: string | undefined
  /** Time of the log, ms since the Unix epoch. */
  readonly time: number
  /**
   * From which position on the log takes only what is signed with the key that nodes share; `undefined` while whoever may
   * publish to it counts as a node.
   */
  readonly signedSince: number | undefined
  /** All nodes that were heard of in the last seven days, this one included. */
  readonly nodes: readonly ClusterNode[]
}
