import type { Runtime, RuntimeOptions } from '../../contracts/runtime.ts'

export interface Option {
  name: string
  /** What stands for the value in the help; none for a switch. */
  value?: string
  says: string
}

/** What a command is given: its words, its options, and a runtime opened on demand. */
export interface Invocation {
  words: string[]
  options: Record<string, string | boolean | undefined>
  json: boolean
  open(): Runtime
  doors: Doors
}

/** What the command line needs from outside its room; `bin.ts` hands it in. */
export interface Doors {
  openRuntime(options: RuntimeOptions): Runtime
  serveMcpStdio(runtime: Runtime): Promise<void>
  serveHttp(runtime: Runtime, port: number): Promise<{ url: string; close(): Promise<void> }>
}

export interface Command {
  name: string
  summary: string
  usage: string
  /** A paragraph that teaches. */
  about: string
  options?: Option[]
  examples: string[]
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}
