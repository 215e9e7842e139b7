import type { ClientConfigs, Installation } from '../../contracts/clients.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { RuntimeOptions } from '../../contracts/runtime.ts'
import type { Tool } from '../../contracts/tool.ts'
import type { StateAdmin } from '../../contracts/state.ts'

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
  open(): Operator
  /** The person's tools for the state of the project. */
  openStateAdmin(): Promise<StateAdmin>
  /** For processes that stay: takes up changed settings without a restart. */
  openLive(): Operator
  dependencies: CliDependencies
}

/** What the command line needs from outside its room; `bin.ts` hands it in. */
export interface CliDependencies {
  openRuntime(options: RuntimeOptions): Operator
  openStateAdmin(options: RuntimeOptions): Promise<StateAdmin>
  serveMcpStdio(gate: AgentGate, forms: ClientForms): Promise<void>
  serveHttp(
    operator: Operator,
    options: { host: string; port: number; allowRemote: boolean; allowOrigins: readonly string[] },
  ): Promise<{ url: string; signInLink: string; close(): Promise<void> }>
  /** A link that signs the person in, once, on the page of a server that runs and has proved to be this project's. */
  findSignInLink(operator: Operator, wanted: { port?: number; byAddress: boolean }): Promise<string>
  /** How many bytes the list of tools takes over MCP. */
  toolListBytes(tools: readonly Tool[]): Promise<number>
  /** The settings files of other programs on this machine, for `init`. */
  openClientConfigs(): Promise<ClientConfigs>
  /** What is wrong with files that shall be templates of runs; without files, with those in the person's folder. */
  checkTemplates(files: readonly string[], offers: (tool: string) => boolean): Promise<{ name: string; wrong: string[] }[]>
  /** Throws where a setting's flag has a value it cannot have. */
  checkSettings(flags: Record<string, string | boolean | undefined>): void
  /** This very copy of Handrail, and its version whether or not it was published. */
  installation(): Promise<Installation & { version: string }>
}

export interface Command {
  name: string
  summary: string
  usage: string
  /** A paragraph that teaches. */
  about: string
  options?: Option[]
  examples: string[]
  /** Which of its words may name the project instead of --project. */
  projectWord?: number
  /** It only looks, or takes something back: a project's own settings that cannot be used do not stop it. */
  onlyReads?: boolean
  /** It takes back what was done: what a project's own settings tighten does not bind the person who does that. */
  takesBack?: boolean
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}
