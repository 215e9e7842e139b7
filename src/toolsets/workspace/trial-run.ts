import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { AnyObject, closed } from '../../contracts/shapes.ts'
import { redact } from '../../text/redact/redact.ts'
import { trialOnStage, type TrialAnswer } from './trial-on-stage.ts'
import { defineTool } from './use.ts'

const outputBytes = 2_097_152

export const trialRun = defineTool({
  name: 'trial_run',
  title: 'Try an export of the project',
  description:
    'Import a module of the project on a stage, without network and under a time limit, call one of its exports, and get what it answered and printed. Nothing it changes is kept.',
  risk: 'R0',
  input: Type.Object(
    {
      file: Type.String({ minLength: 1, maxLength: 4_096 }),
      exportName: Type.String({ minLength: 1, maxLength: 200 }),
      timeoutMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 600_000, default: 10_000 })),
      maxEvents: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 200 })),
    },
    closed,
  ),
  output: Type.Object(
    {
      status: Type.Enum(['pass', 'threw', 'import-failed', 'no-export', 'ended'], { type: 'string' }),
      value: Type.Optional(Type.Unknown({ description: 'What it answered, as JSON; of what is no JSON a description' })),
      error: Type.Optional(Type.Object({ name: Type.String(), message: Type.String() }, closed)),
      exports: Type.Array(Type.String()),
      events: Type.Array(AnyObject(), { description: 'What it printed and what failed, in order' }),
      dropped: Type.Integer({ minimum: 0 }),
    },
    closed,
  ),
  faults: ['path-denied', 'not-found', 'timeout', 'cancelled', 'unsupported', 'over-limit', 'io'],
  examples: [],
  touches: ({ file }) => [{ path: file, access: 'read' }],
  card: ({ file, exportName }) => ({ title: `Try ${exportName} of ${file}`, changes: [] }),
  program({ file, exportName, timeoutMs = 10_000, maxEvents = 200 }, { files }) {
    const path = files.normal(file)
    files.readPart(path, () => ({ start: 0, end: 0 }))
    const job = { file: `${files.root}/${path}`, exportName, maxEvents }
    return {
      argv: [
        process.execPath,
        ...forTypes(path),
        '--input-type=module',
        '-e',
        `await (${trialOnStage.toString()})(${JSON.stringify(job)}, (address) => import(address))`,
      ],
      cwd: '',
      timeoutMs,
      outputBytes,
      discards: true,
    }
  },
  execute(_, __, { ran }) {
    const answer = answerIn(ran.stdout.text)
    if (answer) return answer
    return {
      status: 'ended' as const,
      error: { name: 'Error', message: redact(ran.stderr.text).slice(0, 2_048) || `Exited ${ran.exitCode ?? ran.signal}` },
      exports: [],
      events: [],
      dropped: 0,
    }
  },
})

/** Node 20 runs JavaScript only. */
function forTypes(path: string): string[] {
  if (!/\.[cm]?tsx?$/.test(path)) return []
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 6)) return ['--experimental-strip-types', '--disable-warning=ExperimentalWarning']
  throw new Fault('unsupported', `Node ${process.versions.node} runs no TypeScript`, {
    hint: 'Run Handrail with Node 22.6 or later, or name a JavaScript file.',
  })
}

/** It ran beside the project's code: what is not in the form is not taken for an answer. */
function answerIn(printed: string): TrialAnswer | undefined {
  try {
    const said = JSON.parse(printed.slice(printed.lastIndexOf('\n{') + 1)) as Partial<TrialAnswer>
    const statuses = ['pass', 'threw', 'import-failed', 'no-export']
    if (!statuses.includes(said.status as string) || !Array.isArray(said.exports) || !Array.isArray(said.events)) return undefined
    const { name, message } = said.error ?? {}
    return {
      status: said.status as TrialAnswer['status'],
      ...(said.value !== undefined && { value: said.value }),
      ...(said.error && { error: { name: String(name), message: String(message).slice(0, 2_048) } }),
      exports: said.exports.map(String),
      events: said.events.filter((one) => typeof one === 'object' && one !== null),
      dropped: Number(said.dropped) || 0,
    }
  } catch {
    return undefined
  }
}
