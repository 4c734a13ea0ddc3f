/** Whether what is written is kept; see {@link RunningStore.storage}. */
export interface StorageStatus {
  /**
   * `kept`: as it should be. `full`: writes are refused with `quota-exceeded` until there is room on the disk. `broken`:
   * writes are refused (status 503) until the store is started again, as it is not known what the disk has; with an error `in-use`, another
   * process has taken the directory, and clients are sent away. Of a node:
   * `waiting`: the log that the nodes share cannot be reached, or has no quorum; nothing is acknowledged, and clients are sent
   * away when it takes too long. `degraded`: all goes on, and the log is not kept on all servers, or has a hole. `broken`: it
   * has stopped for good, and takes no clients.
   */
  readonly state: 'kept' | 'full' | 'broken' | 'waiting' | 'degraded'
  /** The system's error, if it is not well. */
  readonly error: unknown
}
