// Bundles the program into dist/ and stores V8's code cache beside it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leanSdk } from './lean-sdk.mjs'
import { noticesFor } from './notices.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
if (!existsSync(join(root, 'node_modules', 'rolldown'))) {
  // `npm install --omit=dev` of a checkout runs `prepare` without the tools to build.
  process.stderr.write('handrail: nothing built, the build tools are not installed.\n')
  process.exit(0)
}
const { rolldown } = await import('rolldown')

// Only who calls a mounted MCP server loads the SDK's client: a bundle of its own, so that nothing of it is read at a start.
const clientSdk = join(root, 'src/host/mcp/sdk.ts')
const apart = {
  name: 'client-sdk-apart',
  resolveId(id, importer) {
    if (importer && join(dirname(importer), id) === clientSdk) return { id: './mcp-client.cjs', external: true }
  },
}

// `import Type from 'typebox'` is all of it as one object, which no bundler takes apart: some 60 KB that every start would load, of which thirteen
// functions are used. By its parts it is the same code.
const leanTypebox = {
  name: 'typebox-by-its-parts',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: /^import Type\b.* from 'typebox'$/m },
    handler: (code) => code.replace(/^import Type\b.* from 'typebox'$/m, "import * as Type from 'typebox'"),
  },
}

const started = performance.now()
rmSync(join(root, 'dist'), { recursive: true, force: true })
const bundle = await rolldown({
  input: { handrail: join(root, 'src/bin.ts') },
  platform: 'node',
  external: [
    '@photostructure/sqlite',
    '@vscode/ripgrep',
    'playwright-core',
    'pg',
    'bullmq',
    'ioredis',
    'oxc-parser',
    '@napi-rs/keyring',
  ],
  // Its main file asks for its parts in a way no bundler follows; the other one is plain modules.
  resolve: { alias: { 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
  // `ws` would take either from whatever folder Handrail lies in, and needs neither.
  transform: { define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' } },
  plugins: [leanSdk, leanTypebox, apart],
  // What is loaded later in the sources and is in the first file all the same, since something there needs it at once.
  checks: { ineffectiveDynamicImport: false },
  logLevel: 'warn',
})
const modules = []
const written = ({ output }) => modules.push(...output.flatMap(({ moduleIds = [] }) => moduleIds))
written(
  await bundle.write({
    dir: join(root, 'dist'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    // What every command loads lies in one file, though some of it is shared with parts that are loaded later: it was 65 files, each opened, read and
    // made into a script for itself.
    codeSplitting: { groups: [{ name: 'start', tags: ['$initial'] }] },
    // Read faster: see bin/handrail.js.
    charset: 'ascii',
    minify: true,
    sourcemap: false,
  }),
)
await bundle.close()
// The program is run from its text (bin/handrail.js), where nothing can be imported: it is required, as the other parts are.
let required = 0
for (const name of readdirSync(join(root, 'dist')).filter((one) => one.endsWith('.cjs'))) {
  const file = join(root, 'dist', name)
  const code = readFileSync(file, 'utf8')
  const changed = code.replace(/import\(([`"'])\.\/mcp-client\.cjs\1\)/g, () => {
    required++
    return 'Promise.resolve().then(()=>require("./mcp-client.cjs"))'
  })
  if (changed !== code) writeFileSync(file, changed)
}
if (required === 0) throw new Error('nothing loads dist/mcp-client.cjs: scripts/build.mjs no longer fits the bundler')
const sdk = await rolldown({ input: { 'mcp-client': clientSdk }, platform: 'node', logLevel: 'warn' })
written(
  await sdk.write({
    dir: join(root, 'dist'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    charset: 'ascii',
    minify: true,
    sourcemap: false,
  }),
)
await sdk.close()
// `handrail/client`: for Node with its WebSocket, for pages with theirs.
for (const [name, platform] of [
  ['node', 'node'],
  ['browser', 'browser'],
]) {
  const client = await rolldown({
    input: { [`client-${name}`]: join(root, `src/client/${name}.ts`) },
    platform,
    transform: { define: { 'process.env.WS_NO_BUFFER_UTIL': '"1"', 'process.env.WS_NO_UTF_8_VALIDATE': '"1"' } },
    logLevel: 'warn',
  })
  written(
    await client.write({
      dir: join(root, 'dist'),
      format: 'esm',
      entryFileNames: '[name].mjs',
      charset: 'ascii',
      minify: true,
      sourcemap: false,
    }),
  )
  await client.close()
}

writeFileSync(join(root, 'dist', 'THIRD-PARTY-NOTICES.txt'), noticesFor(modules))

// A cache taken after real work also holds the functions that were compiled on the way.
const temp = mkdtempSync(join(tmpdir(), 'handrail-build-'))
const project = join(temp, 'project')
mkdirSync(project)
const hello = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'build', version: '0' } },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'list_files', arguments: { path: '.' } } },
  {
    jsonrpc: '2.0',
    id: 4,
    method: 'tools/call',
    params: { name: 'write_to_file', arguments: { path: 'a.txt', content: 'a\n', dryRun: true } },
  },
  {
    jsonrpc: '2.0',
    id: 5,
    method: 'tools/call',
    params: { name: 'write_to_file', arguments: { path: 'a.txt', content: 'a\n', dryRun: false } },
  },
  { jsonrpc: '2.0', id: 6, method: 'tools/call', params: { name: 'read_file', arguments: { path: 'a.txt' } } },
]
const child = spawnSync('sh', ['-c', `(cat; sleep 0.7) | "${process.execPath}" bin/handrail.js mcp --project "${project}"`], {
  cwd: root,
  input: hello.map((message) => `${JSON.stringify(message)}\n`).join(''),
  // A state of its own: the person's is not littered with one more project for each build.
  env: { ...process.env, HANDRAIL_WRITE_CODE_CACHE: '1', HANDRAIL_STATE: join(temp, 'state') },
  encoding: 'utf8',
})
rmSync(temp, { recursive: true, force: true })
if (!child.stdout.includes('"id":6')) {
  process.stderr.write(`handrail: the built program does not answer:\n${child.stdout}\n${child.stderr}\n`)
  process.exit(1)
}
// `--help` is the same for everybody: bin/handrail.js tells it without loading the program.
for (const [name, isTTY] of [
  ['help.txt', false],
  ['help-colour.txt', true],
]) {
  const code = `if (${isTTY}) Object.assign(process.stdout, { isTTY: true, columns: 80 }); process.argv = [process.execPath, 'handrail', '--help']; require('./bin/handrail.js')`
  const { COLUMNS: _, NO_COLOR: __, ...env } = process.env
  const { stdout, status } = spawnSync(process.execPath, ['-e', code], { cwd: root, env, encoding: 'utf8' })
  if (status !== 0 || !stdout.includes('--project')) throw new Error('the built program tells no help')
  writeFileSync(join(root, 'dist', name), stdout)
}
process.stderr.write(`handrail: built in ${Math.round(performance.now() - started)} ms\n`)
