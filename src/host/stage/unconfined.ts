import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Program, ProgramResult } from '../../contracts/stage.ts'
import { isOnDisk, type Content } from '../../contracts/content.ts'
import { runInSlices } from '../../text/steps.ts'
import { captureBothEnds } from '../output.ts'
import type { PathRules } from '../paths.ts'
import { runProcess } from '../process.ts'
import { contentAt } from '../path-state.ts'
import type { Root } from '../walk.ts'
import { makePreRunCopy, type Compared } from './pre-run-copy.ts'
import { effectsOf, type Contents } from './effects.ts'
import { howItEnded } from './launch.ts'
import { parentDeathWatchdog } from './parent-death-watchdog.ts'

export interface Unconfined {
  ran: ProgramResult
  compared: readonly Compared[]
  contents: Contents
}

/** Runs a program as it is, on the project itself: only after a person agreed, and with a copy for undo. */
export async function runUnconfined(
  parts: { project: Root; rules: PathRules; diskBytes: number },
  program: Program,
  env: Record<string, string>,
  folder: string,
  signal?: AbortSignal,
): Promise<Unconfined> {
  const { project, rules } = parts
  const before = await runInSlices(makePreRunCopy(project, rules, join(folder, 'before'), parts.diskBytes), signal)
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const [stdout, stderr] = [
    captureBothEnds(program.outputBytes, program.secrets),
    captureBothEnds(program.outputBytes, program.secrets),
  ]
  // What it made of folders on the way to the one it may change is found by the comparison, as anything else is.
  mkdirSync(join(project.path, program.changes ?? ''), { recursive: true })
  const began = performance.now()
  const end = await runProcess({
    file: '/bin/sh',
    // The program takes the shell's place and does not see the pipe.
    args: ['-c', `${parentDeathWatchdog}\nexec "$@" 3<&-`, 'run', ...program.argv],
    cwd: join(project.path, program.cwd),
    env: { ...env, HOME: home, TMPDIR: home, ...program.env },
    timeoutMs: program.timeoutMs,
    ...(signal && { signal }),
    mark: folder,
    onOutput: (chunk) => stdout.add(chunk),
    onErrors: (chunk) => stderr.add(chunk),
    onFacts: () => undefined,
  })
  const compared = await runInSlices(before.compare())
  const copies = new Map(compared.map((one) => [one.path, one.before]))
  const contents: Contents = {
    before: (path) => wholeOf(copies.get(path)?.content()),
    after: (path) => contentAt(project, path.split('/')),
  }
  return {
    compared,
    contents,
    ran: {
      ...howItEnded(end, program),
      stdout: stdout.end(),
      stderr: stderr.end(),
      ms: Math.round(performance.now() - began),
      effects: await runInSlices(
        effectsOf(
          compared.map((one) => one.difference),
          contents,
        ),
      ),
      leftover: [],
      confined: false,
      network: true,
    },
  }
}

/** What is too large to be held is not looked into. */
const wholeOf = (content: Content | undefined): Buffer =>
  content === undefined || isOnDisk(content) ? Buffer.alloc(0) : Buffer.from(content)
