/**
 * The map of the house as data: who may use whom. `test/pins/rooms.test.ts` obeys it, `docs/reference/map.md` prints it.
 * `runtime/` wires the rooms and `bin.ts` starts them; nobody else sees them all.
 */
export const rooms = {
  contracts: { may: [], says: 'the words every room shares, as types and schemas; runs in Node and in the browser' },
  text: {
    may: ['contracts'],
    says: 'pure functions on text and values: diff, glob, redaction, printable text; runs in Node and in the browser',
  },
  config: { may: ['contracts', 'text'], says: 'one typed config; every value knows where it came from' },
  kernel: { may: ['contracts', 'text'], says: 'the one road every act takes' },
  host: { may: ['contracts', 'text'], says: 'the machine: files, processes, time; the only room with node:fs' },
  stores: { may: ['contracts', 'text', 'host'], says: 'what is kept: audit, snapshots, approvals, keys, sessions' },
  runs: {
    may: ['contracts', 'text'],
    says: 'work that outlives a request: queue, steps, cancel, time to live; it calls tools through a gate',
  },
  toolsets: { may: ['contracts', 'text', 'host'], says: 'what an agent can do, one file per tool' },
  client: {
    may: ['contracts', 'text'],
    says: 'the typed client of the dev bridge, `handrail/client`; runs in Node and in the browser',
  },
  surfaces: { may: ['contracts', 'text', 'kernel', 'client'], says: 'how a caller gets in: a transport and a dialect' },
  agent: { may: ['contracts', 'text'], says: 'models that act: they hold an `AgentGate`, as any stranger does' },
  runtime: {
    may: ['contracts', 'text', 'config', 'kernel', 'host', 'stores', 'runs', 'toolsets', 'surfaces', 'agent'],
    says: 'the composition: opens the rooms and wires them, once; small files that a test can compose',
  },
} as const satisfies Record<string, { may: readonly string[]; says: string }>

/** Rooms whose sub-folders are siblings that never import each other. */
export const siblings = ['toolsets', 'surfaces'] as const

type Room = keyof typeof rooms

type Holder = Room | `${Room}/${string}`

/**
 * Modules only some rooms, folders or files may touch, so that there is one way to the disk, to a process and to the database, and so that
 * nobody who serves agents can so much as name what only the person holds.
 */
export const keys: Record<string, Holder | readonly Holder[]> = {
  'contracts/operator.ts': ['runtime', 'kernel', 'stores', 'surfaces/cli', 'surfaces/page', 'surfaces/person'],
  'contracts/client-forms.ts': [
    'runtime',
    'kernel',
    'surfaces/mcp',
    'surfaces/gateway',
    'surfaces/acp',
    'surfaces/cli/command.ts',
    'contracts/operator.ts',
  ],
  'node:fs': 'host',
  'node:fs/promises': 'host',
  // One file: nothing is started that it does not confine, bound and kill. (The browser's driver starts the browser.)
  'node:child_process': 'host/process.ts',
  'node:worker_threads': 'host',
  // Callers come in through surfaces; the host serves and confines pages.
  'node:net': ['surfaces', 'host'],
  'node:http': ['surfaces', 'host'],
  ws: ['surfaces', 'host', 'client/node.ts'],
  'playwright-core': 'host',
  '@napi-rs/keyring': 'host',
  '@photostructure/sqlite': 'host',
  pg: 'host',
  bullmq: 'host',
  ioredis: 'host',
  aws4fetch: 'stores/cluster',
  'oxc-parser': 'host',
  '@ai-sdk/anthropic': 'agent/models',
  '@ai-sdk/google': 'agent/models',
  '@ai-sdk/openai-compatible': 'agent/models',
  '@agentclientprotocol/sdk': 'surfaces/acp',
  'vscode-languageserver': 'surfaces/lsp',
  'vscode-languageserver-protocol': 'surfaces/lsp',
  'vscode-languageserver-textdocument': 'surfaces/lsp',
  '@modelcontextprotocol/server': 'surfaces',
  // One file, so that it is a bundle of its own.
  '@modelcontextprotocol/client': 'host/mcp/sdk.ts',
}
