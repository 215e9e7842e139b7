import Type, { type Static } from 'typebox'

const closed = { additionalProperties: false } as const

/** Every setting there is: the policy file of seed 000 §6 with our own additions. Field names are also flags and environment variables. */
export const Config = Type.Object(
  {
    $schema: Type.Optional(Type.String({ description: 'For editors; ignored.' })),
    contractVersion: Type.String({
      const: '1.0.0',
      default: '1.0.0',
      description: 'Version of the tool contracts this file was written for.',
    }),
    mode: Type.Enum(['user', 'developer', 'cline'], {
      type: 'string',
      default: 'user',
      description: '`user` (also written `cline`): files only. `developer`: commands and browser too.',
    }),
    lang: Type.Enum(['ZH', 'EN'], {
      type: 'string',
      default: 'ZH',
      description: 'Language of diagnostics.',
    }),
    webgalCommands: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Commands that a derivative WebGAL engine adds, so that scripts may use them.',
    }),
    readOnly: Type.Boolean({ default: false, description: 'Refuse every change.' }),
    tools: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Toolsets or tools to offer, so that the list an agent reads stays small. Empty: all.',
    }),
    enableShell: Type.Boolean({
      default: false,
      description: 'Offer `shell`: any command, on a stage, its changes taken over only after you saw them.',
    }),
    disabledTools: Type.Array(Type.String(), { default: [], description: 'Tools switched off by name.' }),
    policies: Type.Object(
      {
        sandboxRoot: Type.String({
          default: '${projectRoot}',
          description: 'The folder tools may enter: the project, or a folder inside it. Paths stay relative to the project.',
        }),
        forbiddenDirs: Type.Array(Type.String({ minLength: 1 }), {
          default: ['.git', 'node_modules', '.env'],
          description: 'Names no tool may enter, at any depth, in any letter case or Unicode form.',
        }),
        writeRequiresDiff: Type.Boolean({
          default: true,
          description: '`write_to_file` needs a dry run of the same path and content first.',
        }),
        maxAutoFix: Type.Integer({
          minimum: 0,
          default: 1,
          description: 'Writes to a file that keeps failing its check before a person is asked.',
        }),
        batchMaxLines: Type.Integer({
          minimum: 1,
          default: 2000,
          description: 'Most lines one call may add and take away together.',
        }),
        allowedCommands: Type.Array(Type.String(), {
          default: ['dev', 'build', 'lint'],
          description: 'Scripts of `package.json` that may be run (developer mode).',
        }),
        browserAllowedHosts: Type.Array(Type.String(), {
          default: ['localhost', '127.0.0.1'],
          description: 'Hosts a browser may open (developer mode).',
        }),
        askFrom: Type.Enum(['R1', 'R2'], {
          type: 'string',
          default: 'R2',
          description: 'Risk from which a person is asked. `R1`: before every change. It cannot be set above R2.',
        }),
        askInEditor: Type.Boolean({
          default: true,
          description:
            'Show approvals in the MCP client where it can. Off: only `handrail approvals` and the approvals page can answer.',
        }),
        sensitiveFiles: Type.Array(Type.String(), {
          default: [
            'package.json',
            '.mcp.json',
            '.npmrc',
            '.vscode/**',
            '.idea/**',
            '.claude/**',
            '.cursor/**',
            '.codex/**',
            '.gemini/**',
            '.github/**',
            '.husky/**',
            '.envrc',
            '.gitattributes',
            '.gitmodules',
            'AGENTS.md',
            'CLAUDE.md',
            'Makefile',
          ],
          description: 'Files that make other programs run something: changing one is R2, so a person is asked.',
        }),
        crossMounts: Type.Boolean({
          default: false,
          description: 'Let tools enter other file systems mounted inside the project.',
        }),
      },
      closed,
    ),
    limits: Type.Object(
      {
        maxReadBytes: Type.Integer({ minimum: 1, default: 5_242_880, description: 'Largest file read or written.' }),
        snapshotRetention: Type.Integer({
          minimum: 3,
          default: 200,
          description: 'States kept per file. The original, the present state and the one before it are never dropped.',
        }),
        callTimeoutMs: Type.Integer({ minimum: 100, default: 60_000, description: 'Longest a call may run.' }),
        approvalWaitMs: Type.Integer({
          minimum: 0,
          default: 45_000,
          description: 'How long a call waits for a person before it answers with the approval id.',
        }),
        approvalTtlMs: Type.Integer({
          minimum: 1_000,
          default: 86_400_000,
          description: 'After this an unanswered question is denied, and an unused approval lapses.',
        }),
        requestsPerSecond: Type.Integer({
          minimum: 1,
          default: 5_000,
          description: 'Requests a listener takes per second; more are told to wait.',
        }),
        maxConcurrent: Type.Integer({ minimum: 1, default: 16, description: 'Calls carried out at once.' }),
        maxQueued: Type.Integer({ minimum: 1, default: 1_024, description: 'Calls that may wait for their turn.' }),
        idempotencyTtlMs: Type.Integer({
          minimum: 1_000,
          default: 2_592_000_000,
          description: 'How long an idempotency key is remembered.',
        }),
        searchTimeoutMs: Type.Integer({ minimum: 100, default: 20_000, description: 'Longest a search may take.' }),
        regexTimeoutMs: Type.Integer({ minimum: 10, default: 2_000, description: 'Longest one replacement may take.' }),
        browserTimeoutMs: Type.Integer({
          minimum: 1_000,
          default: 30_000,
          description: 'Longest a page may take to load or settle.',
        }),
        commandTimeoutMs: Type.Integer({
          minimum: 1_000,
          default: 120_000,
          description: 'Longest a script of `package.json` may run; a dev server is not bound by it.',
        }),
        stageProcesses: Type.Integer({ minimum: 8, default: 512, description: 'Most processes one program may start.' }),
        stageMemoryBytes: Type.Integer({
          minimum: 67_108_864,
          default: 4_294_967_296,
          description: 'Most memory a program and all it starts may take.',
        }),
        stageDiskBytes: Type.Integer({
          minimum: 1_048_576,
          default: 1_073_741_824,
          description: 'Most a program may write on its stage.',
        }),
      },
      closed,
    ),
    stage: Type.Object(
      {
        unconfined: Type.Enum(['ask', 'refuse'], {
          type: 'string',
          default: 'ask',
          description:
            'Where the system cannot confine a program: ask before each run and keep a copy of the project for undo, or refuse to run any.',
        }),
        stageVisible: Type.Array(Type.String({ minLength: 1 }), {
          default: ['.git', 'node_modules'],
          description:
            'Forbidden names at the top of the project that programs may still read, since they do not work without; what they change there is never taken over.',
        }),
        stageReads: Type.Array(Type.String({ minLength: 1 }), {
          default: [],
          description:
            'Folders of the machine that programs may read besides the system itself, as absolute paths: a toolchain in your home. Not in a project’s own file.',
        }),
        stagePlace: Type.String({
          default: '',
          description:
            'Folder that stages are kept in, outside the project. Empty: a folder of your own below ~/.local/state. Not in a project’s own file.',
        }),
        bubblewrap: Type.String({
          default: '',
          description: 'The program bwrap. Empty: the one on the PATH. Not in a project’s own file.',
        }),
      },
      closed,
    ),
    preview: Type.Object(
      {
        engine: Type.String({
          default: '',
          description:
            'Folder of the WebGAL engine that plays the game. Empty: the one in the project, else the package webgal-engine.',
        }),
        terre: Type.Enum(['auto', 'always', 'never'], {
          type: 'string',
          default: 'auto',
          description: 'Preview in a running WebGAL Terre: where it has this project open, always, or never.',
        }),
        terrePort: Type.Integer({ minimum: 1, default: 3001, description: 'Port of WebGAL Terre.' }),
      },
      closed,
    ),
    browser: Type.Object(
      {
        screenshotDir: Type.String({
          minLength: 1,
          default: 'screenshots',
          description: 'Folder of the project that pictures of pages are put into (developer mode).',
        }),
      },
      closed,
    ),
  },
  closed,
)

export type Config = Static<typeof Config>

/** Settings that name programs or folders of the machine: a project that was cloned from somewhere does not get to say these. */
export const personalSettings: readonly string[] = ['stage.bubblewrap', 'stage.stageReads', 'stage.stagePlace']

/** Where a value came from; later ones win. */
export const origins = ['default', 'user', 'project', 'environment', 'flag'] as const
export type Origin = (typeof origins)[number]

export interface Setting {
  /** Where it stands in the file, e.g. `policies.maxAutoFix`. */
  key: string
  flag: string
  env: string
  description: string
  value: unknown
  origin: Origin
}
