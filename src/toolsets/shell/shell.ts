import Type from 'typebox'
import { ProgramResultShape } from '../../contracts/effects.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import { closed } from '../../contracts/shapes.ts'
import { notApplied, programResultFields, succeeded } from '../../text/program-result.ts'
import { defineTool } from './use.ts'

const outputBytes = 65_536

export const shell = defineTool({
  name: 'shell',
  title: 'Run a command',
  description:
    'Run a command with sh in the project. It runs on a stage: no network, nothing of the machine but the system and the project, and the real files stay untouched. Plain files that it makes or changes are applied at once and can be undone. Where it removes several files, makes links, executables or files that run, changes permissions, or changes very much, the person sees the diff first; you get the output at once either way. What it does in .git, in node_modules and outside the project never happens: not_applied says so. Long output loses its middle.',
  risk: 'R1',
  input: Type.Object(
    {
      command: Type.String({ minLength: 1, maxLength: 65_536, description: 'What sh -c gets.' }),
      cwd: Type.Optional(Type.String({ description: 'Folder to start in, relative to the project root. Default: the root.' })),
      timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 120, default: 20 })),
      network: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Ask the person to let this command reach the network. They are asked before it runs.',
        }),
      ),
    },
    closed,
  ),
  output: Type.Object(
    {
      ok: Type.Boolean({ description: 'Whether it ended with exit code 0, and nothing it did in .git was lost.' }),
      exit_code: Type.Integer(),
      stdout: Type.String(),
      stderr: Type.String(),
      stdout_bytes: Type.Integer({ minimum: 0, description: 'All of it, also what was left out.' }),
      stderr_bytes: Type.Integer({ minimum: 0 }),
      ...ProgramResultShape,
    },
    closed,
  ),
  faults: ['not-found', 'path-denied', 'timeout', 'policy', 'conflict', 'unsupported', 'io'],
  examples: [],
  needs: 'enableShell',
  card: ({ command, cwd }) => ({
    title: `Run ${oneLine(command, 160)}`,
    changes: [],
    notes: [`Command: ${command}`, ...(cwd === undefined ? [] : [`In: ${cwd}`])],
  }),
  program({ command, cwd = '.', timeout_seconds = 20, network = false }, { files }) {
    const folder = files.normal(cwd)
    if (folder !== '' && !files.isFolder(folder))
      throw new Fault('not-found', `No such folder: ${cwd}`, {
        hint: (name) => `cwd is a folder of the project; ${name('list_files')} shows them.`,
      })
    if (command.includes('\0')) throw new Fault('bad-input', 'A command cannot hold a NUL character', { hint: 'Leave it out.' })
    return { argv: ['/bin/sh', '-c', command], cwd: folder, timeoutMs: timeout_seconds * 1_000, outputBytes, network }
  },
  execute(_, __, { ran }) {
    return {
      ...notApplied(ran),
      ok: succeeded(ran),
      exit_code: ran.exitCode ?? 128,
      stdout: ran.stdout.text,
      stderr: ran.stderr.text,
      stdout_bytes: ran.stdout.bytes,
      stderr_bytes: ran.stderr.bytes,
      ...programResultFields(ran),
    }
  },
})
