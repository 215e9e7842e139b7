/** One field of an entry as JSON and TOML both can hold it. */
export type EntryValue = string | number | boolean | string[] | Record<string, string>
export type Entry = Record<string, EntryValue>
export type Platform = 'darwin' | 'linux' | 'win32'

/** This copy of Handrail: what runs it, the file it is started from, and its version where it came from the registry. */
export interface Installation {
  node: string
  program: string
  published?: string
}

/** How a client starts Handrail. */
export interface Start {
  command: string
  args: string[]
}

/** A program that can use Handrail over MCP: where its settings are and what goes in. `handrail init` and the guide come from this. */
export interface Client {
  name: string
  title: string
  /** One file in every project, or one of the user for all of them. */
  scope: 'project' | 'user'
  /** The first whose variables are all set counts. `~` is the home folder; a relative path lies in the project. */
  files: Record<Platform, readonly string[]>
  format: 'json' | 'toml'
  /** What holds the servers, by name, at the top of the file. */
  key: string
  stdio(start: Start): Entry
  /** Where the client can speak HTTP. The token is never written: the client takes it from the environment when it can. */
  http?(url: string): Entry
  /** The client takes headers only as they stand in the file, so a person has to put the token in. */
  tokenByHand?: true
  /** The longest a call may take in all, where the entry gives the client a longer limit than most have. */
  answerWithinMs?: number
  /** What a new entry gets besides; from then on these fields are the user's. */
  extras?: Entry
  /** What may stay in an entry that came with a project, and which values are harmless. Whatever else stands there is refused. */
  keeps?: Record<string, (value: unknown) => boolean>
  /** What the client would replace inside a text, so that a path holding it would become another path. */
  expands?: RegExp
  /** What to do once the file is written. */
  next: string
}

/** The variable from which clients take the token of `handrail serve`. */
export const tokenVariable = 'HANDRAIL_TOKEN'

const onEverySystem = (...files: string[]): Client['files'] => ({ darwin: files, linux: files, win32: files })
const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` })
const braces = /\$\{/

const isEmpty = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.keys(value).length === 0
/** A limit too short for any answer is a way to switch a server off. */
const isPatience = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1_000
const isShortText = (value: unknown): boolean => typeof value === 'string' && value.length <= 200
const gemini: Client['keeps'] = {
  timeout: isPatience,
  description: isShortText,
  trust: (value) => value === false,
  env: isEmpty,
}

export const clients: readonly Client[] = [
  {
    name: 'claude-desktop',
    title: 'Claude Desktop',
    scope: 'user',
    files: {
      darwin: ['~/Library/Application Support/Claude/claude_desktop_config.json'],
      linux: ['$XDG_CONFIG_HOME/Claude/claude_desktop_config.json', '~/.config/Claude/claude_desktop_config.json'],
      win32: ['$APPDATA/Claude/claude_desktop_config.json', '~/AppData/Roaming/Claude/claude_desktop_config.json'],
    },
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ command, args }),
    next: 'Quit Claude Desktop and start it again.',
  },
  {
    name: 'claude-code',
    title: 'Claude Code',
    scope: 'project',
    files: onEverySystem('.mcp.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    http: (url) => ({ type: 'http', url, headers: bearer(`\${${tokenVariable}}`) }),
    expands: braces,
    keeps: { timeout: isPatience, env: isEmpty },
    next: 'Start `claude` in the project and let it use the server when it asks.',
  },
  {
    name: 'cursor',
    title: 'Cursor',
    scope: 'project',
    files: onEverySystem('.cursor/mcp.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    http: (url) => ({ url, headers: bearer(`\${env:${tokenVariable}}`) }),
    expands: braces,
    keeps: { env: isEmpty, disabled: (value) => value === false },
    next: 'Switch the server on in Cursor: Settings, MCP.',
  },
  {
    name: 'vscode',
    title: 'VS Code',
    scope: 'project',
    files: onEverySystem('.vscode/mcp.json'),
    format: 'json',
    key: 'servers',
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    http: (url) => ({ type: 'http', url, headers: bearer(`\${env:${tokenVariable}}`) }),
    expands: braces,
    keeps: { env: isEmpty },
    next: 'Open .vscode/mcp.json in VS Code, press Start above the entry and trust it.',
  },
  {
    name: 'cline',
    title: 'Cline',
    scope: 'user',
    files: onEverySystem(
      '$CLINE_MCP_SETTINGS_PATH',
      '$CLINE_DATA_DIR/settings/cline_mcp_settings.json',
      '~/.cline/data/settings/cline_mcp_settings.json',
    ),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ type: 'stdio', command, args }),
    http: (url) => ({ type: 'streamableHttp', url, headers: bearer('THE-TOKEN') }),
    tokenByHand: true,
    extras: { timeout: 60, disabled: false, autoApprove: [] },
    expands: braces,
    next: 'Look at MCP Servers in Cline; it reads the file again by itself.',
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    scope: 'project',
    files: onEverySystem('.gemini/settings.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ command, args }),
    http: (url) => ({ httpUrl: url, headers: bearer(`\${${tokenVariable}}`) }),
    expands: /\$[\w{]/,
    keeps: gemini,
    next: 'Start `gemini` in the project; `/mcp` shows the server. A folder it does not trust keeps its settings off.',
  },
  {
    name: 'codex',
    title: 'Codex',
    scope: 'user',
    files: onEverySystem('$CODEX_HOME/config.toml', '~/.codex/config.toml'),
    format: 'toml',
    key: 'mcp_servers',
    // Without `required` it starts without Handrail where that fails, with a shell of its own.
    stdio: ({ command, args }) => ({ command, args, required: true, tool_timeout_sec: 180 }),
    http: (url) => ({ url, bearer_token_env_var: tokenVariable, required: true, tool_timeout_sec: 180 }),
    answerWithinMs: 170_000,
    next: 'Start `codex`; `/mcp` shows the server.',
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    scope: 'user',
    files: onEverySystem('~/.copilot/mcp-config.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ type: 'local', command, args, tools: ['*'] }),
    expands: braces,
    next: 'Start `copilot`; `/mcp show` shows the server.',
  },
  {
    name: 'opencode',
    title: 'opencode',
    scope: 'project',
    files: onEverySystem('opencode.json'),
    format: 'json',
    key: 'mcp',
    stdio: ({ command, args }) => ({ type: 'local', command: [command, ...args] }),
    http: (url) => ({ type: 'remote', url, headers: bearer(`{env:${tokenVariable}}`) }),
    extras: { enabled: true },
    expands: /\{(env|file):/,
    keeps: { enabled: (value) => value === true, timeout: isPatience, environment: isEmpty },
    next: 'Start `opencode` in the project; `opencode mcp list` shows the server.',
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    scope: 'project',
    files: onEverySystem('.qwen/settings.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ command, args }),
    http: (url) => ({ httpUrl: url, headers: bearer(`\${${tokenVariable}}`) }),
    expands: /\$[\w{]/,
    keeps: gemini,
    next: 'Start `qwen` in the project; `/mcp` shows the server.',
  },
  {
    name: 'continue',
    title: 'Continue',
    scope: 'project',
    files: onEverySystem('.continue/mcpServers/handrail.json'),
    format: 'json',
    key: 'mcpServers',
    stdio: ({ command, args }) => ({ command, args }),
    expands: /\$\{/,
    keeps: { env: isEmpty },
    next: 'Start `cn` in the project, or look at Tools in the editor; tools work in agent mode.',
  },
]

/** A change of a client's settings file, worked out but not made. */
export interface ConfigChange {
  file: string
  /** Where the bytes are: not the same where a link stands in the file's place. */
  realFile: string
  /** Nothing where there is no file yet. */
  before: string | undefined
  after: string
  /** All of an entry that was there before and is renewed, as it will stand: the lines of a change do not show what stays. */
  whole?: string
}

/** The settings files of clients on this machine. Nothing is written but by `write`. */
export interface ClientConfigs {
  locate(client: Client, project: string): string
  /** A whole settings file with this entry and nothing else. */
  snippet(client: Client, name: string, entry: Entry): string
  /** With the entry put in, or taken out where none is given. `within` is the folder a link must not lead out of. A file in `project` came with it. */
  propose(request: { client: Client; file: string; name: string; project: string; entry?: Entry; within?: string }): ConfigChange
  /** All or nothing. Refuses where the file changed since it was read. */
  write(change: ConfigChange): void
  mustBeFolder(path: string): void
}
