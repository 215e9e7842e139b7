// `npm run test:node -- 24 [ARGUMENTS OF VITEST]`: every test on another version of Node, which is fetched from the registry (once).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { must, root } from './setup.mjs'

const [wanted = '', ...rest] = process.argv.slice(2)
if (!/^\d+(\.\d+){0,2}$/.test(wanted)) {
  process.stderr.write(
    'handrail: name a version of Node: npm run test:node -- 24, or npm run test:node -- 22.12.0 test/flows/undo.test.ts\n',
  )
  process.exit(2)
}

const name = `node-${process.platform}-${process.arch}`
const place = join(root, '.cache', `node-${wanted}`)
const bin = join(place, 'node_modules', name, 'bin')
const node = join(bin, 'node')
if (!existsSync(node)) {
  process.stderr.write(`handrail: fetching Node ${wanted} (once)…\n`)
  mkdirSync(place, { recursive: true })
  // A package of its own: without one npm would look for the next package.json above.
  writeFileSync(join(place, 'package.json'), '{ "private": true }\n')
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  must('npm', ['install', ...quiet, '--prefix', place, `${name}@${wanted}`], `Node ${wanted} could not be fetched as ${name}.`)
}

const { status } = spawnSync(node, [join(root, 'scripts', 'test.mjs'), ...rest], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` },
})
process.exit(status ?? 1)
