import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Program, Ran } from '../../contracts/stage.ts'
import { keepBothEnds } from '../output.ts'
import type { PathRules } from '../paths.ts'
import { runProcess } from '../process.ts'
import { contentAt } from '../standing.ts'
import type { Root } from '../walk.ts'
import { copyBefore, type BeforeCopy } from './before.ts'
import { effectsOf, type Contents } from './effects.ts'
import { howItEnded } from './launch.ts'

/**
 * Reads from a pipe that only closes with us: whatever ends Handrail, kill -9 included, ends all that carries the mark.
 * The program itself takes the shell's place and does not see the pipe.
 */
const lifeline = `(
  while read -r _; do :; done <&3
  read -r me _ </proc/self/stat
  for at in /proc/[0-9]*; do
    [ "$at" = "/proc/$me" ] || ! tr '\\0' '\\n' <"$at/environ" | grep -qx "HANDRAIL_MARK=$HANDRAIL_MARK" || kill -9 "\${at#/proc/}"
  done
) >/dev/null 2>&1 &
exec "$@" 3<&-`

export interface Unconfined {
  ran: Ran
  compared: ReturnType<BeforeCopy['compare']>
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
  const before = copyBefore(project, rules, join(folder, 'before'), parts.diskBytes)
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const [stdout, stderr] = [
    keepBothEnds(program.outputBytes, program.secrets),
    keepBothEnds(program.outputBytes, program.secrets),
  ]
  // What it made of folders on the way to the one it may change is found by the comparison, as anything else is.
  mkdirSync(join(project.path, program.changes ?? ''), { recursive: true })
  const began = performance.now()
  const end = await runProcess({
    file: '/bin/sh',
    args: ['-c', lifeline, 'run', ...program.argv],
    cwd: join(project.path, program.cwd),
    env: { ...env, HOME: home, TMPDIR: home, ...program.env },
    timeoutMs: program.timeoutMs,
    ...(signal && { signal }),
    mark: folder,
    onOutput: (chunk) => stdout.add(chunk),
    onErrors: (chunk) => stderr.add(chunk),
    onFacts: () => undefined,
  })
  const compared = before.compare()
  const copies = new Map(compared.map((one) => [one.path, one.before]))
  const contents: Contents = {
    before: (path) => copies.get(path)?.content() ?? Buffer.alloc(0),
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
      effects: effectsOf(
        compared.map((one) => one.difference),
        contents,
      ),
      leftover: [],
      confined: false,
      network: true,
    },
  }
}
