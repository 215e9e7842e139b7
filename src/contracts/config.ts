import Type, { type Static } from 'typebox'
import { entry, list, text, whole } from './config-bounds.ts'
import { agent } from './config-agent.ts'
import { cluster } from './config-cluster.ts'
import { limits } from './config-limits.ts'
import { Mounts, type Mount } from './mounts.ts'
import { closed } from './shapes.ts'

/**
 * Every setting there is: the policy file of seed 000 §6 with our own additions. Field names are also flags and environment variables.
 * Each says which way it is tighter, and in words what a looser value does (`{}` stands for the value, or what a list gains or loses).
 */
export const Config = Type.Object(
  {
    $schema: Type.Optional(Type.String({ ...text, description: 'For editors; ignored.' })),
    contractVersion: Type.String({
      ...text,
      const: '1.0.0',
      tighter: 'neutral',
      default: '1.0.0',
      description: 'Version of the tool contracts this file was written for.',
    }),
    mode: Type.Enum(['user', 'developer', 'cline'], {
      type: 'string',
      tighter: [['user', 'cline'], ['developer']],
      loosens: 'offers commands and a browser ({} mode)',
      default: 'user',
      description:
        '`user` (also written `cline`): everything but what follows. `developer`: scripts of package.json (`execute_command`) and pages held open (`browser_action`, `page_…`) too.',
    }),
    lang: Type.Enum(['ZH', 'EN'], {
      type: 'string',
      tighter: 'neutral',
      default: 'ZH',
      description: 'Language of diagnostics. Without it: English where the locale is an English one, else Chinese.',
    }),
    webgalCommands: Type.Array(Type.String({ minLength: 1, ...entry }), {
      ...list,
      tighter: 'neutral',
      default: [],
      description: 'Commands that a derivative WebGAL engine adds, so that scripts may use them.',
    }),
    webgalArguments: Type.Array(Type.String({ pattern: String.raw`^(\*|[A-Za-z]\w*)\.\S+$`, ...entry }), {
      ...list,
      tighter: 'neutral',
      default: [],
      description: 'Arguments that a derivative WebGAL engine adds, as `command.argument`, or `*.argument` for every command.',
    }),
    webgalVersion: Type.String({
      pattern: String.raw`^(\d+\.\d+\.\d+(\.\d+)?)?$`,
      maxLength: 32,
      tighter: 'neutral',
      default: '',
      description:
        'Version of the WebGAL engine that scripts are judged by, e.g. 4.5.18. Empty: found from the files beside the game.',
    }),
    readOnly: Type.Boolean({ tighter: 'on', loosens: 'allows changes', default: false, description: 'Refuse every change.' }),
    tools: Type.Array(Type.String({ minLength: 1, ...entry }), {
      ...list,
      tighter: 'fewer',
      emptyIsAll: true,
      loosens: 'offers more tools: {}',
      default: [],
      description: 'Toolsets or tools to offer, so that the list an agent reads stays small. Empty: all. `a+b`: what is in both.',
    }),
    enableShell: Type.Boolean({
      tighter: 'off',
      loosens: 'offers `shell`: any command',
      default: false,
      description:
        'Offer `shell`: any command, on a stage. Plain changes are applied and can be undone; removals, files that run and whatever is large wait for you.',
    }),
    disabledTools: Type.Array(Type.String(entry), {
      ...list,
      tighter: 'more',
      loosens: 'switches on again: {}',
      default: [],
      description: 'Tools switched off by name.',
    }),
    roots: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}=/', ...entry }), {
      maxItems: 32,
      tighter: 'fewer',
      loosens: 'lets agents of some surfaces into folders outside the project: {}',
      default: [],
      description:
        'Folders besides the project, as NAME=/FOLDER, for surfaces whose callers may reach more than the project; those of MCP never do. Records write a path in one as //NAME/PATH.',
    }),
    mounts: Type.Unsafe<Record<string, Mount>>({
      ...Mounts,
      tighter: 'each',
      secret: true,
      loosens: 'starts or reaches other MCP servers and offers their tools: {}',
      default: {},
      description:
        'Other MCP servers by name, whose tools Handrail guards: `command`, `args`, `env`, `reads`, `writes`, `network`, or `url` and `headers`; `risks` says what you take their tools for (docs/guide/mounts.md). In the variable as JSON.',
    }),
    wrap: Type.Boolean({
      tighter: 'off',
      loosens: 'offers the tools of mounted servers to MCP clients',
      default: false,
      description: 'Offer the tools of mounted servers to MCP clients, as `<server>__<tool>`.',
    }),
    policies: Type.Object(
      {
        sandboxRoot: Type.String({
          ...text,
          tighter: 'inside',
          loosens: 'lets tools enter {}',
          default: '${projectRoot}',
          description: 'The folder tools may enter: the project, or a folder inside it. Paths stay relative to the project.',
        }),
        forbiddenDirs: Type.Array(Type.String({ minLength: 1, ...entry }), {
          ...list,
          tighter: 'more',
          loosens: 'lets tools and programs into {}',
          default: ['.git', 'node_modules', '.env'],
          description: 'Names no tool may enter, at any depth, in any letter case or Unicode form.',
        }),
        writeRequiresDiff: Type.Boolean({
          tighter: 'on',
          loosens: 'lets agents write without a dry run',
          default: true,
          description: '`write_to_file` needs a dry run of the same path and content first.',
        }),
        maxAutoFix: Type.Integer({
          ...whole,
          minimum: 0,
          tighter: 'lower',
          loosens: 'lets an agent write {} times to a file that fails its check before you are asked',
          default: 1,
          description: 'Writes to a file that keeps failing its check before a person is asked.',
        }),
        batchMaxLines: Type.Integer({
          ...whole,
          minimum: 1,
          tighter: 'lower',
          loosens: 'lets one call change {} lines',
          default: 2000,
          description: 'Most lines one call may add and take away together; a program whose changes are more asks.',
        }),
        unaskedRemovals: Type.Integer({
          ...whole,
          minimum: 0,
          tighter: 'lower',
          loosens: 'lets one program remove {} files without asking you',
          default: 3,
          description:
            'Most files that one program may remove, empty, move away or put another in the place of before a person is asked. A change in place is none of these.',
        }),
        unaskedFiles: Type.Integer({
          ...whole,
          minimum: 0,
          tighter: 'lower',
          loosens: 'lets one program change {} files and folders without asking you',
          default: 500,
          description: 'Most files and folders that one program may change before a person is asked.',
        }),
        unaskedBytes: Type.Integer({
          ...whole,
          minimum: 0,
          tighter: 'lower',
          loosens: 'lets one program change files of {} bytes without asking you',
          default: 10_485_760,
          description: 'Size, all together, of the files that one program may change before a person is asked.',
        }),
        allowedCommands: Type.Array(Type.String(entry), {
          ...list,
          tighter: 'fewer',
          loosens: 'lets agents run these scripts of `package.json`: {}',
          default: ['dev', 'build', 'lint'],
          description: 'Scripts of `package.json` that may be run (developer mode).',
        }),
        browserAllowedHosts: Type.Array(Type.String(entry), {
          ...list,
          tighter: 'fewer',
          loosens: 'lets the browser open {}',
          default: ['localhost', '127.0.0.1'],
          description: 'Hosts a browser may open (developer mode), and pages of runs without asking.',
        }),
        browserForbiddenHosts: Type.Array(Type.String(entry), {
          ...list,
          tighter: 'more',
          loosens: 'lets pages reach {}',
          default: [],
          description: 'Hosts that no page of a run reaches, nor anything below them, whatever a person allows.',
        }),
        trustLevel: Type.Enum(['local', 'remote'], {
          type: 'string',
          tighter: [['remote'], ['local']],
          loosens: 'takes callers for {}',
          default: 'local',
          description:
            '`remote`: every caller counts as one from another machine. Its pages reach the internet only, and templates for this machine are refused. Callers whose address is another machine’s are remote anyway.',
        }),
        askFrom: Type.Enum(['R1', 'R2'], {
          type: 'string',
          tighter: [['R1'], ['R2']],
          loosens: 'asks you only from {} on',
          default: 'R2',
          description: 'Risk from which a person is asked. `R1`: before every change. It cannot be set above R2.',
        }),
        askInEditor: Type.Boolean({
          tighter: 'off',
          loosens: 'lets the agent’s own client show approvals and answer them',
          default: true,
          description:
            'Show approvals in the MCP client where it can. Off: only `handrail approvals` and the approvals page can answer.',
        }),
        askOverHttp: Type.Boolean({
          tighter: 'person',
          default: false,
          description:
            'Let a filled-in form answer over HTTP too. Whoever has the token can fill one in, the agent itself included. Not in a project’s own file.',
        }),
        acpClients: Type.Array(Type.String({ minLength: 1, ...entry }), {
          ...list,
          tighter: 'person',
          default: [],
          description:
            'Editors whose permission dialogs count as your answer over the Agent Client Protocol, by the name they give of themselves, e.g. zed. Editors can be set to answer by themselves. Never for R3. Not in a project’s own file.',
        }),
        sensitiveFiles: Type.Array(Type.String(entry), {
          ...list,
          tighter: 'more',
          loosens: 'changes without asking you: {}',
          default: [],
          description:
            'More files that a person is asked about at each change, besides those that make programs run something or instruct agents (docs/reference/files-that-run.md).',
        }),
        crossMounts: Type.Boolean({
          tighter: 'off',
          loosens: 'lets tools enter other file systems mounted inside the project',
          default: false,
          description: 'Let tools enter other file systems mounted inside the project.',
        }),
      },
      closed,
    ),
    limits,
    cluster,
    stage: Type.Object(
      {
        unconfined: Type.Enum(['ask', 'refuse'], {
          type: 'string',
          tighter: [['refuse'], ['ask']],
          loosens: 'lets programs run unconfined where you agree',
          default: 'ask',
          description:
            'Where the system cannot confine a program: ask before each run and keep a copy of the project for undo, or refuse to run any.',
        }),
        stageVisible: Type.Array(Type.String({ minLength: 1, ...entry }), {
          ...list,
          tighter: 'fewer',
          loosens: 'lets programs read {}',
          default: ['.git', 'node_modules'],
          description:
            'Forbidden names at the top of the project that programs may still read, since they do not work without; what they change there is never taken over.',
        }),
        stageReads: Type.Array(Type.String({ minLength: 1, ...entry }), {
          ...list,
          tighter: 'person',
          default: [],
          description:
            'Folders of the machine that programs may read besides the system itself, as absolute paths: a toolchain in your home. Not in a project’s own file.',
        }),
        stagePlace: Type.String({
          ...text,
          tighter: 'person',
          default: '',
          description:
            'Folder that stages are kept in, outside the project. Empty: a folder of your own below ~/.local/state. Not in a project’s own file.',
        }),
        bubblewrap: Type.String({
          ...text,
          tighter: 'person',
          default: '',
          description: 'The program bwrap. Empty: the one on the PATH. Not in a project’s own file.',
        }),
      },
      closed,
    ),
    preview: Type.Object(
      {
        engine: Type.String({
          ...text,
          tighter: 'person',
          default: '',
          description:
            'Folder of the WebGAL engine that plays the game. Empty: the one in the project, else the package webgal-engine. Not in a project’s own file.',
        }),
        terre: Type.Enum(['auto', 'always', 'never'], {
          type: 'string',
          tighter: [['never'], ['auto', 'always']],
          loosens: 'looks for a running WebGAL Terre',
          default: 'auto',
          description: 'Preview in a running WebGAL Terre: where it has this project open, always, or never.',
        }),
        terrePort: Type.Integer({
          ...whole,
          minimum: 1,
          tighter: 'person',
          default: 3001,
          description: 'Port of WebGAL Terre. Not in a project’s own file.',
        }),
      },
      closed,
    ),
    agent,
    gateway: Type.Object(
      {
        gatewayRoots: Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$', ...entry }), {
          maxItems: 32,
          tighter: 'fewer',
          loosens: 'lets callers of the HTTP gateway into these roots: {}',
          default: [],
          description:
            'Which folders of the setting roots callers of the HTTP gateway reach besides the project, by name. Folders of the system never.',
        }),
      },
      closed,
    ),
    browser: Type.Object(
      {
        screenshotDir: Type.String({
          ...text,
          minLength: 1,
          tighter: 'neutral',
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

/** Where a value came from; later ones win. */
export const origins = ['default', 'user', 'project', 'environment', 'flag'] as const
export type SettingOrigin = (typeof origins)[number]

export interface Setting {
  /** Where it stands in the file, e.g. `policies.maxAutoFix`. */
  key: string
  flag: string
  env: string
  description: string
  value: unknown
  origin: SettingOrigin
}
