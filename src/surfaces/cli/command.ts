import type { BridgeClient, ConnectOptions } from '../../client/api.ts'
import type { DevServerState } from '../../contracts/bridge.ts'
import type { ClientConfigs, Installation } from '../../contracts/clients.ts'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { CliPlane } from '../../contracts/command-result.ts'
import type { Fault } from '../../contracts/faults/fault.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { RuntimeOptions } from '../../contracts/runtime.ts'
import type { CheckedSkill } from '../../contracts/skill.ts'
import type { Tool } from '../../contracts/tool.ts'
import type { StateAdmin } from '../../contracts/state.ts'

export interface ServeBridgeOptions {
  host: string
  port: number
  allowRemote: boolean
  allowOrigins: readonly string[]
  /** Whether commands may write source. */
  allowWrite: boolean
  token: string | undefined
  stateFile: string | undefined
  maxMessageBytes?: number
  shutdownAfterMs?: number
  idleShutdownMs?: number
}

export interface ServedBridge {
  state: Omit<DevServerState, 'token'>
  stateFile: string
  /** Resolves once somebody asked for its end, or its time was up. */
  asked: Promise<void>
  close(): Promise<void>
}

export interface BridgeStateReader {
  readonly path: string
  read(): { state: DevServerState } | { gone: 'missing' | 'stale' | 'foreign'; pid?: number }
}

export interface Option {
  name: string
  /** What stands for the value in the help; none for a switch. */
  value?: string
  says: string
}

/** What a command is given: its words, its options, and a runtime opened on demand. */
export interface Invocation {
  /** The folder that was named, or is meant. */
  project: string
  words: string[]
  options: Record<string, string | boolean | undefined>
  json: boolean
  open(): Operator
  /** The same for another folder; whoever opens it closes it. */
  openAt(project: string, more?: Pick<RuntimeOptions, 'patienceMs' | 'noLink'>): Operator
  /** The person's tools for the state of the project. */
  openStateAdmin(): Promise<StateAdmin>
  /** For processes that stay: takes up changed settings without a restart. */
  openLive(flags?: Record<string, string>): Operator
  dependencies: CliDependencies
}

/** What the command line needs from outside its room; `bin.ts` hands it in. */
export interface CliDependencies {
  openRuntime(options: RuntimeOptions): Operator
  openStateAdmin(options: RuntimeOptions): Promise<StateAdmin>
  serveMcpStdio(gate: AgentGate, forms: ClientForms): Promise<void>
  /** The agent inside an editor, on stdin and stdout. */
  serveAcp(operator: Operator): Promise<void>
  /** The language server of WebGAL scripts on stdin and stdout; resolves to the exit code. */
  serveLsp(open: (project: string) => Operator): Promise<number>
  serveHttp(
    operator: Operator,
    options: {
      host: string
      port: number
      allowRemote: boolean
      allowOrigins: readonly string[]
      watchOnly?: true
      allowDevWrite?: boolean
    },
  ): Promise<{ url: string; signInLink: string; close(): Promise<void> }>
  /** One page for all projects of this user that are at work. */
  serveDesk(options: {
    port: number
    state: string | undefined
    named: readonly string[]
    openAt(project: string, more?: Pick<RuntimeOptions, 'patienceMs' | 'noLink'>): Operator
    onProject(operator: Operator): () => void
    onTrouble(project: string, fault: Fault): void
  }): Promise<{ url: string; link(): string; projects(): string[]; close(): Promise<void> }>
  /** The bridge alone, on a port of its own. */
  serveBridge(operator: Operator, options: ServeBridgeOptions): Promise<ServedBridge>
  /** Where a bridge of the project says how it is reached. */
  openBridgeState(project: string, named: string | undefined): Promise<BridgeStateReader>
  /** Resolves once the process of a bridge is gone; not later than after a few seconds. */
  goneWith(state: DevServerState): Promise<void>
  connectBridge(url: string, options: ConnectOptions): Promise<BridgeClient>
  /** A link that signs the person in, once, on the page of a server that runs and has proved to be this project's. */
  findSignInLink(operator: Operator, wanted: { port?: number; byAddress: boolean }): Promise<string>
  /** A key for the person's own programs at such a server. */
  findProgramKey(operator: Operator, wanted: { port?: number }): Promise<{ url: string; key: string }>
  /** How many bytes the list of tools takes over MCP. */
  toolListBytes(tools: readonly Tool[]): Promise<number>
  /** The settings files of other programs on this machine, for `init`. */
  openClientConfigs(): Promise<ClientConfigs>
  /** What is wrong with files that shall be templates of runs; without files, with those in the person's folder. */
  checkTemplates(files: readonly string[], offers: (tool: string) => boolean): Promise<{ name: string; wrong: string[] }[]>
  /** Every skill below some folders, trusted or not; without folders, those of the project and ours. */
  checkSkills(folders: readonly string[], project: string): Promise<{ checked: CheckedSkill[]; left: string[] }>
  /** The one-shot commands on a runtime. */
  openPlane(operator: Operator): Promise<CliPlane>
  /** Each `next` resolves once a file below has changed since the last one. */
  watchFolders(folders: readonly string[]): Promise<{ next(): Promise<void> }>
  /** A text of the person's; nothing where there is none, or it is larger than that. */
  readText(file: string, most: number): Promise<string | undefined>
  /** Throws where a setting's flag has a value it cannot have. */
  checkSettings(flags: Record<string, string | boolean | undefined>): void
  /** Shows a few words on the person's desktop; nothing where there is none. */
  openNotify(): Promise<((title: string, body: string) => void) | undefined>
  /** A small project to try things out on. */
  makeDemoProject(): Promise<{ project: string; state: string; remove(): void }>
  /** This very copy of Handrail, and its version whether or not it was published. */
  installation(): Promise<Installation & { version: string }>
}

/** A setting as the command line knows it. */
export interface SettingFlag {
  flag: string
  /** Its place in a settings file, `limits.callTimeoutMs`. */
  key: string
  /** `limits`; empty for what stands in no group. */
  group: string
  boolean: boolean
  type: string
  choices?: readonly string[]
  default: unknown
  says: string
}

export interface Command {
  name: string
  summary: string
  usage: string
  /** A paragraph that teaches. */
  about: string
  options?: Option[]
  /** What it does by its first word, and how many words each takes after it. Without a word it does the first. */
  acts?: Readonly<Record<string, number>>
  /** How many words it takes, where it has no `acts`; none without. */
  mostWords?: number
  /** Settings that are worth a line in its help, by their flags. */
  settings?: readonly string[]
  examples: string[]
  /** The CLI plane reads its words and prints its answer. */
  plane?: boolean
  /** Which of its words may name the project instead of --project. */
  projectWord?: number
  /** It only looks, or takes something back: a project's own settings that cannot be used do not stop it. */
  onlyReads?: boolean
  /** It takes back what was done: what a project's own settings tighten does not bind the person who does that. */
  takesBack?: boolean
  /** Commands that do what tools do: whoever types commands is told of these in the place of those. `ID` is one that the reader has. */
  insteadOf?: Readonly<Record<string, string>>
  /** Resolves to the exit code. */
  run(invocation: Invocation): Promise<number>
}
