import Type from 'typebox'
import { checkNames, CheckResult } from '../../contracts/diagnostic.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import type { ProgramResult } from '../../contracts/stage.ts'
import type { Files } from '../../host/files.ts'
import type { StageAnswer, StageRun } from './checks/on-stage.ts'
import type { Surroundings } from './checks/results.ts'
import { defineTool } from './use.ts'

/** What the stage says is cut down there: a report of a large project is tens of megabytes. */
const outputBytes = 8_388_608
const mostTextBytes = 2_097_152
const mostItems = 400

/** Tools that look whether somebody watches, and write in colours or wait for keys where somebody does. */
const quiet = { CI: '1', NO_COLOR: '1', FORCE_COLOR: '0', npm_config_update_notifier: 'false', NODE_DISABLE_COLORS: '1' }

export const defaultCheckMs = 120_000

export const CheckInput = {
  cwd: Type.Optional(
    Type.String({ maxLength: 4_096, description: 'Folder of the package to check, from the project root. Default: the root.' }),
  ),
  timeoutMs: Type.Optional(
    Type.Integer({ minimum: 1_000, maximum: 1_800_000, default: defaultCheckMs, description: 'For each check' }),
  ),
}

export const runCheck = defineTool({
  name: 'run_check',
  title: 'Run one check of the project',
  description:
    'One check of run_checks: type check, lint or tests of the project, on a stage, nothing of what it writes is kept. Use run_checks.',
  risk: 'R0',
  input: Type.Object({ check: Type.Enum([...checkNames], { type: 'string' }), ...CheckInput }, closed),
  output: CheckResult,
  faults: ['path-denied', 'not-found', 'timeout', 'cancelled', 'unsupported', 'over-limit', 'io'],
  examples: [],
  card: ({ check }) => ({ title: `Run the check ${check}`, changes: [] }),
  async program({ check, cwd = '', timeoutMs = defaultCheckMs }, { files }) {
    const [{ onStage }, { folder, plan, folders }] = await Promise.all([
      import('./checks/on-stage.ts'),
      lookAt(files, check, cwd),
    ])
    const job = { attempts: plan.attempts, folders, mostTextBytes, mostItems }
    const binaries = folders.map((one) => `${one}/node_modules/.bin`)
    return {
      // sh puts the project's own commands on the path of whatever is started, as `npm run` does.
      argv: [
        '/bin/sh',
        '-c',
        'PATH="$1:$PATH"; export PATH; shift; exec "$@"',
        'sh',
        binaries.join(':'),
        process.execPath,
        '-e',
        `(${onStage.toString()})(${JSON.stringify(job)})`,
      ],
      cwd: folder,
      timeoutMs,
      outputBytes,
      env: quiet,
      discards: true,
    }
  },
  async execute({ check, cwd = '' }, { files }, { ran }) {
    const [{ resultOf }, around] = await Promise.all([import('./checks/results.ts'), lookAt(files, check, cwd)])
    const known = around.plan.attempts.map(({ tool }) => tool)
    return resultOf(answerIn(ran, known), Math.round(ran.ms), around)
  },
})

/** What the stage said. It ran beside the project's own code, which could have spoken in its place. */
function answerIn({ stdout, stderr, exitCode }: ProgramResult, known: readonly string[]): StageAnswer {
  try {
    const answer = JSON.parse(stdout.text) as Partial<StageAnswer> | null
    if (typeof answer?.tool === 'string' && Array.isArray(answer.runs) && ['', ...known].includes(answer.tool))
      return { tool: answer.tool, runs: answer.runs.map(asRun) }
  } catch {
    // Not ours.
  }
  return { tool: 'script', runs: [{ code: exitCode === 0 ? 1 : exitCode, text: stderr.text.slice(0, 65_536), dropped: 0 }] }
}

function asRun(said: unknown): StageRun {
  const { code, text, report, dropped } = (said ?? {}) as Partial<Record<keyof StageRun, unknown>>
  return {
    code: Number.isInteger(code) ? (code as number) : null,
    text: typeof text === 'string' ? text : '',
    report,
    dropped: Number.isInteger(dropped) ? (dropped as number) : 0,
  }
}

/** What a check finds in the project: what to run, in which folder, and how a person would run it. */
export async function lookAt(
  files: Files,
  check: Surroundings['check'],
  cwd: string,
): Promise<Surroundings & { folders: string[] }> {
  const [{ planCheck }, { packageManagerOf }] = await Promise.all([
    import('./checks/plan.ts'),
    import('./checks/package-manager.ts'),
  ])
  const folder = files.normal(cwd)
  if (folder !== '' && !files.isFolder(folder))
    throw new Fault('not-found', `No such folder: ${cwd}`, { hint: 'cwd is a folder of the project, from its root.' })
  const names = folder.split('/').filter(Boolean)
  const up = [...names.map((_, at) => names.slice(0, names.length - at).join('/')), '']
  const places = up.map((one) => ({ files, folder: one }))
  return {
    check,
    files,
    folder,
    plan: planCheck(check, places),
    manager: packageManagerOf(places),
    folders: up.map((one) => (one === '' ? files.root : `${files.root}/${one}`)),
  }
}
