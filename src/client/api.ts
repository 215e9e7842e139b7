import type { BridgeErrorCode, BridgeEventMap, BridgeMethods, DevInfo } from './wire.ts'

/** What is told while a request is under way. */
export type BridgeEventOf = {
  [Kind in keyof BridgeEventMap]: { kind: Kind; payload: BridgeEventMap[Kind]; seq?: number }
}[keyof BridgeEventMap]

/** `closed` is for good: by `close()`, or because it cannot be connected again. */
export type BridgeState = 'connecting' | 'open' | 'waiting' | 'closed'

export interface ConnectOptions {
  /** Sent with every request. */
  token?: string
  /** Connect again when the connection is lost; `false` for once only. Default: as long as it takes, after 0.25 s to 10 s. */
  reconnect?: boolean | { leastMs?: number; mostMs?: number; times?: number }
  /** How long the first connection may take. Default 10 s. */
  connectTimeoutMs?: number
  onState?: (state: BridgeState) => void
  /** Asks `dev.info` of every new connection, so that a wrong token is known at once. Default true. */
  greet?: boolean
}

export interface RequestOptions {
  /** Default: a random one. */
  requestId?: string
  /** Cancels the request at the server. It still ends by its answer, with what was done by then. */
  signal?: AbortSignal
  onEvent?: (event: BridgeEventOf) => void
  /** Cancels it after this long. Default: no limit of the client's own. */
  timeoutMs?: number
}

export interface BridgeClient {
  readonly state: BridgeState
  /** What the server said of itself when this was connected. */
  readonly server: DevInfo | undefined
  /**
   * Sends a request and waits for its answer. Rejects with a `BridgeFailure`. Where the connection is lost meanwhile, what only reads is asked again on
   * the next one; anything else was cancelled by the server, and rejects with `CONNECTION_LOST`.
   */
  request<M extends keyof BridgeMethods>(
    method: M,
    params: BridgeMethods[M]['params'],
    options?: RequestOptions,
  ): Promise<BridgeMethods[M]['result']>
  info(options?: RequestOptions): Promise<DevInfo>
  snapshot(
    params?: BridgeMethods['dev.workspace.snapshot']['params'],
    options?: RequestOptions,
  ): Promise<BridgeMethods['dev.workspace.snapshot']['result']>
  run(params: BridgeMethods['dev.run']['params'], options?: RequestOptions): Promise<BridgeMethods['dev.run']['result']>
  runChecks(
    params: BridgeMethods['dev.runChecks']['params'],
    options?: RequestOptions,
  ): Promise<BridgeMethods['dev.runChecks']['result']>
  cancel(targetRequestId: string): Promise<BridgeMethods['dev.cancel']['result']>
  stop(): Promise<BridgeMethods['dev.stop']['result']>
  close(): void
}

/** `CONNECTION_LOST` and `CALL_TIMEOUT` are the client's own. */
export type FailureCode = BridgeErrorCode | 'CONNECTION_LOST' | 'CALL_TIMEOUT'
