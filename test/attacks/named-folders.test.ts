import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { openWorld, type World } from '../support/world.ts'

/** Settings that name a folder in which programs are looked for start what lies in it. */

const flags = { 'approval-wait-ms': '0', 'write-requires-diff': 'false' }

async function write(world: World, path: string): Promise<string> {
  try {
    await world.call('write_to_file', { path, content: 'x\n', dryRun: false })
    return 'done'
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault
    return fault.details?.['approvalId'] === undefined ? errorCodeOf(fault) : 'asked'
  }
}

const cases: [name: string, text: string, asks: string[], free: string[]][] = [
  [
    '.vscode/settings.json',
    JSON.stringify({
      'eslint.nodePath': 'tools/nm',
      'typescript.tsdk': './tools/ts/lib',
      'terminal.integrated.env.linux': { PATH: '${workspaceFolder}/tools/b:${env:PATH}' },
      'files.exclude': { src: true },
      'some.path': 'docs',
    }),
    ['tools/nm/eslint/index.txt', 'tools/ts/lib/tsserver.txt', 'tools/b/git'],
    ['tools/ts/other.txt', 'src/a.txt', 'docs/a.txt', 'env/a.txt', 'path/a.txt', 'tools/bb/x.txt'],
  ],
  [
    '.envrc',
    'export PATH="$PWD/tools/a:$PATH"\nPATH_add tools/b\nexport PYTHONPATH=src\n',
    ['tools/a/x.txt', 'tools/b/deep/x.txt'],
    ['src/a.txt', 'pwd/a.txt'],
  ],
  [
    '.husky/pre-commit',
    'PATH=./tools/a:$PATH npm test src && PATH_add b c\n',
    ['tools/a/x.txt', 'b/x.txt', 'c/x.txt'],
    ['src/a.txt', 'npm/x.txt'],
  ],
  ['mise.toml', '[env]\n_.path = ["./tools/a", "tools/b"]\n', ['tools/a/x.txt', 'tools/b/x.txt'], ['tools/x.txt']],
]

test.for(cases)('%s', async ([name, text, asks, free]) => {
  await using world = await openWorld({ flags, files: { [name]: text } })
  for (const path of free) expect([path, await write(world, path)]).toEqual([path, 'done'])
  for (const path of asks) expect([path, await write(world, path)]).toEqual([path, 'asked'])
})
