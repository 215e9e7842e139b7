/** What may follow a flag: a plain word, a number, or a path inside the workspace. */
export type ValueKind = 'word' | 'number' | 'path'

/** Another agent, as data: how it is started for one task, and what of the person's it needs for that. */
export interface AgentProfile {
  program: string
  /** How a person gets it. */
  install: string
  /** Its arguments for one task without anybody to ask. */
  argv: readonly string[]
  /** How it takes the task: behind `--`, where nothing is an option any more, or as the value of a flag. */
  task: '--' | `--${string}=`
  /** Further arguments a caller may give. Whatever loosens the agent's own rules is not among them. */
  allows: Readonly<Record<string, ValueKind>>
  /** Files below the person's home that hold its sign-in. */
  signIn: readonly string[]
  /** Files there that hold its settings. */
  settings: readonly string[]
  /** Variables of Handrail's own environment that it gets where they are set. */
  keys: readonly string[]
  /** Variables it always gets. */
  env: Readonly<Record<string, string>>
}

/** How anything reaches the network where there is no direct way. */
const proxies = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']
const modelKeys = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'DEEPSEEK_API_KEY']

export const agents = {
  opencode: {
    program: 'opencode',
    install: 'npm install -g opencode-ai',
    // What it would have to ask for is refused, since nobody is there to answer; --auto would wave it through.
    argv: ['run', '--format', 'json'],
    task: '--',
    allows: { '--model': 'word', '--agent': 'word', '--variant': 'word', '--file': 'path' },
    signIn: ['.local/share/opencode/auth.json'],
    settings: ['.config/opencode/opencode.json', '.config/opencode/opencode.jsonc'],
    keys: [...modelKeys, 'GOOGLE_GENERATIVE_AI_API_KEY', 'OPENCODE_API_KEY', ...proxies],
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1' },
  },
  codex: {
    program: 'codex',
    install: 'npm install -g @openai/codex',
    // Its own sandbox needs user namespaces, which the stage does not give away: the stage is the sandbox.
    argv: ['exec', '--json', '--color', 'never', '--skip-git-repo-check', '--sandbox', 'danger-full-access'],
    task: '--',
    allows: { '--model': 'word' },
    signIn: ['.codex/auth.json'],
    settings: ['.codex/config.toml'],
    keys: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL', ...proxies],
    env: {},
  },
  claude: {
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
    // It may edit; commands it would have to ask for are refused, since nobody is there to answer.
    argv: ['-p', '--output-format', 'json', '--permission-mode', 'acceptEdits'],
    task: '--',
    allows: { '--model': 'word', '--fallback-model': 'word', '--max-turns': 'number' },
    signIn: ['.claude/.credentials.json'],
    settings: [],
    keys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL', 'CLAUDE_CODE_OAUTH_TOKEN', ...proxies],
    env: { DISABLE_AUTOUPDATER: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  },
  aider: {
    program: 'aider',
    install: 'pipx install aider-chat',
    argv: ['--yes-always', '--no-git', '--no-pretty', '--no-stream', '--no-suggest-shell-commands', '--map-tokens', '0'],
    task: '--message=',
    allows: {
      '--model': 'word',
      '--weak-model': 'word',
      '--editor-model': 'word',
      '--edit-format': 'word',
      '--file': 'path',
      '--read': 'path',
    },
    signIn: ['.aider/oauth-keys.env'],
    settings: ['.aider.conf.yml'],
    keys: [...modelKeys, 'OPENAI_API_BASE', ...proxies],
    // As variables, since a version that does not know one of them passes over it. Its diaries stay out of the workspace.
    env: {
      AIDER_ANALYTICS_DISABLE: 'true',
      AIDER_CHECK_UPDATE: 'false',
      AIDER_SHOW_RELEASE_NOTES: 'false',
      AIDER_CHAT_HISTORY_FILE: '/dev/null',
      AIDER_INPUT_HISTORY_FILE: '/dev/null',
    },
  },
} as const satisfies Record<string, AgentProfile>

export type AgentName = keyof typeof agents
export const agentNames = Object.keys(agents) as AgentName[]
