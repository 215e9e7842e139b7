import Type, { type Static } from 'typebox'
import { ProgramResultShape } from '../../contracts/effects.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import { closed } from '../../contracts/shapes.ts'
import type { ProgramResult } from '../../contracts/stage.ts'
import type { Bindable, ToolEvent } from '../../contracts/tool.ts'
import type { Files } from '../../host/files.ts'
import { notApplied, programResultFields } from '../../text/program-result.ts'
import { enoughBytes, excerpt, longest } from './excerpt.ts'
import { fromSandbox, hasFolder, sandbox, wasFromSandbox } from './sandbox.ts'
import { defineTool, type SkillsUse } from './use.ts'

/** A script that was judged: where it is, and its first line. */
export interface Script {
  /** Its place on the machine, which is also its place on the stage. */
  file: string
  firstLine: string
}

/** What starts a script, and what a stage must show for that. */
export interface Start {
  argv: readonly string[]
  env?: Readonly<Record<string, string>>
  reads?: readonly string[]
}

/** What sets one tool for scripts apart from another. */
export interface ScriptTool {
  name: 'python_run' | 'script_run'
  title: string
  description: string
  /** Where its scripts may stand, and the same in words. */
  places: RegExp
  where: string
  /** What its scripts end with, and what starts them. */
  endings: Readonly<Record<string, (script: Script, use: SkillsUse) => Start | Promise<Start>>>
}

const words = Type.String({ maxLength: 8_192, pattern: '^[^\\u0000]*$' })
/** All arguments together, so that no system refuses to start the script. */
const mostArgBytes = 131_072
const mostListed = 200

const Input = Type.Object(
  {
    script_path: Type.String({
      minLength: 1,
      description:
        'skills_workspace/<name>/scripts/<file> or sandbox/scripts/<file>, from the project root; for script_run also skills/, .agents/skills/ and .claude/skills/.',
    }),
    args: Type.Optional(Type.Array(words, { maxItems: 256 })),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 120, default: 60 })),
    env: Type.Optional(
      Type.Object(
        {},
        {
          patternProperties: { '^(JARVIS_|HANDRAIL_SKILL_)[A-Za-z0-9_]{1,100}$': words },
          additionalProperties: false,
          maxProperties: 32,
          description: 'Variables for the script. Only names that begin with JARVIS_ or HANDRAIL_SKILL_.',
        },
      ),
    ),
  },
  closed,
)

const Output = Type.Object(
  {
    ok: Type.Boolean({ description: 'Whether it ended with exit code 0.' }),
    exit_code: Type.Integer(),
    stdout_excerpt: Type.String({ maxLength: longest, description: 'Both ends, where it was long.' }),
    stderr_excerpt: Type.String({ maxLength: longest }),
    artifacts_changed: Type.Array(
      Type.Object(
        {
          path: Type.String({ description: 'From the project root.' }),
          size: Type.Integer({ minimum: 0, description: 'Bytes now; 0 where it was deleted.' }),
          kind: Type.Enum(['added', 'modified', 'deleted'], { type: 'string' }),
        },
        closed,
      ),
      { maxItems: mostListed },
    ),
    meta: Type.Object(
      {
        cwd: Type.String(),
        duration_ms: Type.Integer({ minimum: 0 }),
        stdout_len: Type.Integer({ minimum: 0, description: 'All of it, in bytes.' }),
        stderr_len: Type.Integer({ minimum: 0 }),
        notes: Type.Optional(Type.Array(Type.String())),
      },
      closed,
    ),
    not_applied: ProgramResultShape.not_applied,
    left: ProgramResultShape.left,
    confined: ProgramResultShape.confined,
  },
  closed,
)

type In = Static<typeof Input> & { env?: Record<string, string> }
type Out = Static<typeof Output>

/** A tool that runs scripts of skills: the place, the folder, the limits, the answer and the record are the same for all. */
export function scriptTool({ name, title, description, places, where, endings }: ScriptTool): Bindable<SkillsUse> {
  return defineTool<typeof Input, typeof Output, In, Out>({
    name,
    title,
    description: `${description} The script must stand in ${where}. It starts in sandbox/ and may change that folder only; an argument that begins with sandbox/ means the same folder, so the prefix is left out (unless there is a sandbox/sandbox). It runs on a stage, without network: what it only prints is answered at once, what it changed is shown to the person and applied when they agree.`,
    risk: 'R2',
    input: Input,
    output: Output,
    faults: ['path-denied', 'not-found', 'io', 'too-large', 'timeout', 'policy', 'conflict', 'unsupported'],
    examples: [],
    touches: ({ script_path }) => [{ path: script_path, access: 'read' }],
    card: ({ script_path, args = [], env = {} }) => ({
      title: `Run ${oneLine(script_path, 160)}`,
      changes: [],
      notes: [
        ...(args.length ? [`Arguments: ${JSON.stringify(args)}`] : []),
        ...(Object.keys(env).length ? [`Variables: ${JSON.stringify(env)}`] : []),
      ],
    }),
    async program({ script_path, args = [], timeout_seconds = 60, env = {} }, use) {
      const { file, firstLine, ending } = checkScript(use.files, script_path, {
        name,
        places,
        where,
        endings: Object.keys(endings),
      })
      if (args.reduce((sum, arg) => sum + Buffer.byteLength(arg), 0) > mostArgBytes)
        throw new Fault('bad-input', `The arguments are longer than ${mostArgBytes} bytes together`, {
          hint: 'Put the data into a file in sandbox/ and pass its name.',
        })
      hasFolder(use.files, sandbox)
      const start = await (endings[ending] as ScriptTool['endings'][string])({ file, firstLine }, use)
      return {
        argv: [...start.argv, file, ...fromSandbox(use.files, args)],
        cwd: sandbox,
        changes: sandbox,
        timeoutMs: timeout_seconds * 1_000,
        outputBytes: enoughBytes,
        env: { ...env, ...start.env },
        ...(start.reads && { reads: start.reads }),
      }
    },
    record: (input, { files }, ran) =>
      ({ event: `tool.${name}`, details: recorded(input, files, ran) }) satisfies { event: ToolEvent; details: object },
    execute: ({ args = [] }, { files }, { ran }) => answer(ran, wasFromSandbox(files, args, ran)),
  })
}

/** Only a regular file, reached without a link, in a place where scripts of skills stand. */
function checkScript(
  files: Files,
  path: string,
  { name, places, where, endings }: Pick<ScriptTool, 'name' | 'places' | 'where'> & { endings: readonly string[] },
): Script & { ending: string } {
  const normal = files.normal(path)
  if (!places.test(normal))
    throw new Fault('path-denied', `Path not allowed: ${normal}: scripts are run from the folders for them only`, {
      details: { path: normal },
      hint: (tool) =>
        `It must stand in ${where}.${name === 'python_run' ? ` ${tool('script_run')} runs those of other skill folders.` : ''}`,
    })
  const ending = endings.find((one) => normal.endsWith(one))
  if (ending === undefined)
    throw new Fault('path-denied', `Path not allowed: ${normal}: its name must end with ${endings.join(', ')}`, {
      details: { path: normal },
      hint: (tool) => `${tool('python_run')} runs .py; ${tool('script_run')} runs .sh, .js, .mjs, .cjs, .ts and .py.`,
    })
  const { bytes } = files.readPart(normal, () => ({ start: 0, end: 256 }))
  const [firstLine = ''] = bytes.toString('latin1').split('\n', 1)
  return { file: `${files.root}/${normal}`, firstLine, ending }
}

/** The fields of seed 004 §2.6, no more and no less. */
function recorded(
  { script_path, args = [], timeout_seconds = 60 }: In,
  files: Files,
  ran: ProgramResult | undefined,
): Record<string, unknown> {
  return {
    script_path_relative: asWritten(files, script_path),
    args,
    cwd: sandbox,
    timeout_seconds,
    exit_code: ran?.exitCode ?? null,
    stdout_len: ran?.stdout.bytes ?? 0,
    stderr_len: ran?.stderr.bytes ?? 0,
    duration_ms: ran?.ms ?? 0,
  }
}

/** A path that may not be used is written down as it was given. */
function asWritten(files: Files, path: string): string {
  try {
    return files.normal(path)
  } catch {
    return path
  }
}

function answer(ran: ProgramResult, unprefixed: boolean): Out {
  const { left, confined } = programResultFields(ran)
  const artifacts = artifactsOf(ran)
  const notes = [
    ...(unprefixed ? ['sandbox/ at the start of an argument was left out: the script starts in sandbox/'] : []),
    ...(artifacts.length > mostListed ? [`${artifacts.length - mostListed} more changed files are not listed`] : []),
  ]
  return {
    ...notApplied(ran),
    ok: ran.exitCode === 0,
    exit_code: ran.exitCode ?? 128,
    stdout_excerpt: excerpt(ran.stdout),
    stderr_excerpt: excerpt(ran.stderr),
    artifacts_changed: artifacts.slice(0, mostListed),
    meta: {
      cwd: sandbox,
      duration_ms: ran.ms,
      stdout_len: ran.stdout.bytes,
      stderr_len: ran.stderr.bytes,
      ...(notes.length && { notes }),
    },
    ...(left && { left }),
    confined,
  }
}

/** Files as the contract counts them: what was moved is gone in one place and new in another. */
function artifactsOf({ effects }: ProgramResult): Out['artifacts_changed'] {
  return effects
    .filter(({ form }) => form !== 'folder')
    .flatMap(({ path, kind, from, sizes }) => {
      const size = sizes[1] ?? 0
      if (kind === 'deleted') return [{ path, size: 0, kind: 'deleted' as const }]
      const gone = from === undefined ? [] : [{ path: from, size: 0, kind: 'deleted' as const }]
      return [
        ...gone,
        { path, size, kind: kind === 'created' || kind === 'renamed' ? ('added' as const) : ('modified' as const) },
      ]
    })
}
