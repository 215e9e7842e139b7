import Type from 'typebox'
import { ProgramResultShape } from '../../contracts/effects.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, named } from '../../contracts/shapes.ts'
import type { Files } from '../../host/files.ts'
import { linesOf, notApplied, programResultFields, succeeded } from '../../text/program-result.ts'
import { defineTool } from './use.ts'

const outputBytes = 131_072
/** npm must not look for news of itself, and leaves its log where nobody keeps it. */
const quiet = { npm_config_update_notifier: 'false', npm_config_fund: 'false', npm_config_audit: 'false' }

export const executeCommand = defineTool({
  name: 'execute_command',
  title: 'Run a script of the project',
  description:
    "Run one of the scripts dev, build or lint of the project's package.json. build and lint run on a stage: plain files that they make or change are applied at once and can be undone; where they remove several files, make executables or files that run, or change very much, the person sees the diff first, and you get the log at once either way. dev keeps running under supervision, reads the project as it is, changes nothing, and can be opened in a browser on this machine; call it again for its newest output, with stop: true to end it.",
  risk: 'R1',
  input: Type.Object(
    {
      scriptName: Type.Enum(['dev', 'build', 'lint'], { type: 'string' }),
      args: Type.Optional(Type.Array(Type.String())),
      stop: Type.Optional(Type.Boolean({ description: 'For dev: end the server that runs.' })),
    },
    { ...named('execute_command', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      ok: Type.Boolean(),
      logs: Type.Optional(Type.Array(Type.String())),
      exitCode: Type.Optional(Type.Integer()),
      running: Type.Optional(Type.Boolean({ description: 'For dev: whether it runs.' })),
      urls: Type.Optional(Type.Array(Type.String(), { description: 'For dev: where it can be opened.' })),
      ...ProgramResultShape,
    },
    { ...named('execute_command', 'response'), ...closed },
  ),
  faults: ['policy', 'timeout', 'internal', 'conflict', 'unsupported', 'not-found', 'parse', 'io'],
  examples: [],
  developer: true,
  // A yes is to the script as it was shown: with another package.json it counts no more.
  touches: ({ scriptName }) => [{ command: scriptName }, { path: 'package.json', access: 'read' }],
  card: ({ scriptName, args = [] }, { files }) => ({
    title: `Run the script ${scriptName}`,
    changes: [],
    notes: [`package.json says: ${scriptOf(files, scriptName)}`, ...(args.length ? [`Arguments: ${JSON.stringify(args)}`] : [])],
  }),
  program({ scriptName, args = [], stop = false }, { files, commandTimeoutMs }) {
    if (stop && scriptName !== 'dev')
      throw new Fault('bad-input', 'Only dev keeps running and can be stopped', { hint: 'Leave stop out.' })
    // What runs can be ended whatever has become of package.json.
    if (!stop) scriptOf(files, scriptName)
    checkArguments(args)
    return {
      // After `--` nothing is an option of npm. Both streams are one log, in the order they were written.
      argv: ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', 'npm', 'run', scriptName, '--', ...args],
      cwd: '',
      timeoutMs: commandTimeoutMs,
      outputBytes,
      env: quiet,
      ...(scriptName === 'dev' && { serves: stop ? ('stop' as const) : ('start' as const) }),
    }
  },
  execute(_, __, { ran }) {
    const { serving } = ran
    return {
      ...notApplied(ran),
      ok: serving ? serving.running || ((ran.exitCode ?? 0) === 0 && ran.signal === undefined) : succeeded(ran),
      logs: linesOf(ran.stdout),
      ...(ran.exitCode !== null && { exitCode: ran.exitCode }),
      ...(serving && { running: serving.running, urls: [...serving.urls] }),
      ...programResultFields(ran),
    }
  },
})

const mostArgs = 256
const mostArgBytes = 131_072

/** What the system would refuse to start is refused by name. */
function checkArguments(args: readonly string[]): void {
  if (args.some((one) => one.includes('\0')))
    throw new Fault('bad-input', 'An argument cannot hold a NUL character', { hint: 'Leave it out.' })
  if (args.length > mostArgs || args.reduce((sum, one) => sum + Buffer.byteLength(one), 0) > mostArgBytes)
    throw new Fault('bad-input', `A script gets ${mostArgs} arguments and ${mostArgBytes} bytes of them at most`, {
      hint: 'Put the data into a file and pass its name.',
    })
}

/** The script as package.json has it at this moment. */
function scriptOf(files: Files, name: string): string {
  if (files.peek('package.json') === undefined)
    throw new Fault('not-found', 'The project has no package.json', { hint: 'Only scripts of package.json can be run.' })
  let scripts: unknown
  try {
    scripts = (JSON.parse(files.readText('package.json').replace(/^\uFEFF/, '')) as { scripts?: unknown }).scripts
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault('parse', `package.json is not valid JSON: ${(cause as Error).message}`, {
      hint: 'Correct it first.',
    })
  }
  const known = typeof scripts === 'object' && scripts !== null ? (scripts as Record<string, unknown>) : {}
  const script = Object.hasOwn(known, name) ? known[name] : undefined
  if (typeof script === 'string') return script
  throw new Fault('policy', `package.json has no script "${name}"`, {
    details: { scripts: Object.keys(known).slice(0, 50) },
    hint: 'Only scripts that stand in package.json can be run; add it there first.',
  })
}
