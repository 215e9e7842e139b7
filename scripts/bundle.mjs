// `npm run bundle`: packs Handrail as an .mcpb bundle for Claude Desktop and proves that it runs from a folder of its own.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { must, root, setup } from './setup.mjs'

const packer = '@anthropic-ai/mcpb'
const packerVersion = '2.1.2'
const work = join(root, '.cache', 'mcpb')
const stage = join(work, 'stage')
const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The program as it is published. Contracts and other languages of the README are for people who install the package. */
function stageProgram() {
  const { stdout, status } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error('npm pack does not say what belongs to the package')
  const published = JSON.parse(stdout)[0].files.map(({ path }) => path)
  for (const path of published.filter((one) => /^(bin|dist)\/|^(README\.md|LICENSE)$/.test(one))) copy(join(root, path), path)
  const { name, version, license, type } = about
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify({ name, version, license, type }, null, 2)}\n`)
}

/**
 * The store, for Node 20. Where Node has SQLite of its own (22.13 and later) none of this is loaded, which keeps clear of
 * Claude Desktop on macOS refusing foreign native modules. The prebuilt files use Node-API and fit every
 * version. Left out: musl (no client runs there), sources, and ripgrep, without which the built-in search is used.
 */
function stageStore() {
  const packages = join(root, 'node_modules')
  for (const name of ['package.json', 'LICENSE', 'dist/index.cjs'])
    copy(join(packages, '@photostructure/sqlite', name), `node_modules/@photostructure/sqlite/${name}`)
  const prebuilds = join(packages, '@photostructure/sqlite/prebuilds')
  for (const path of readdirSync(prebuilds, { recursive: true }).filter((one) => one.endsWith('.glibc.node')))
    copy(join(prebuilds, path), `node_modules/@photostructure/sqlite/prebuilds/${path}`)
  for (const name of ['package.json', 'LICENSE', 'index.js', 'node-gyp-build.js'])
    copy(join(packages, 'node-gyp-build', name), `node_modules/node-gyp-build/${name}`)
}

function copy(from, to) {
  cpSync(from, join(stage, to), { recursive: true })
}

function manifest(tools) {
  return {
    manifest_version: '0.3',
    name: about.name,
    display_name: 'Handrail',
    version: about.version,
    description: about.description,
    long_description:
      'Choose one folder. The agent can read, search and change the files in it and nothing else; every change is kept on both sides so that it can be undone, what cannot be undone asks you first, and everything is written down. Nothing leaves your machine.',
    author: { name: about.author, url: about.homepage },
    repository: { type: 'git', url: about.repository.url.replace(/^git\+|\.git$/g, '') },
    homepage: about.homepage,
    documentation: about.homepage,
    support: about.bugs.url,
    license: about.license,
    keywords: about.keywords,
    server: {
      type: 'node',
      entry_point: 'bin/handrail.js',
      mcp_config: { command: 'node', args: ['${__dirname}/bin/handrail.js', 'mcp', '--project', '${user_config.root}'] },
    },
    tools: tools.map(({ name, description }) => ({ name, description })),
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: `${about.engines.node}.0` } },
    user_config: {
      root: {
        type: 'directory',
        title: 'Project folder',
        description: 'The one folder the agent may work on.',
        required: true,
      },
    },
  }
}

/** Starts the server as a client does, by what the manifest says, on a new project; its tools, and the answer of one of them. */
async function talk(folder, { args, command }) {
  const project = mkdtempSync(join(tmpdir(), 'handrail-bundle-project-'))
  const words = { '${__dirname}': folder, '${user_config.root}': project }
  const filled = args.map((arg) => arg.replace(/\$\{[^}]+\}/g, (word) => words[word] ?? word))
  const client = new Client({ name: 'handrail-bundle', version: about.version })
  try {
    const transport = new StdioClientTransport({
      command: command === 'node' ? process.execPath : command,
      args: filled,
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', HOME: project },
      stderr: 'inherit',
    })
    await client.connect(transport)
    const { tools } = await client.listTools()
    writeFileSync(join(project, 'a.txt'), 'hello\n')
    const { structuredContent } = await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } })
    return { tools, read: structuredContent?.content }
  } finally {
    await client.close()
    rmSync(project, { recursive: true, force: true })
  }
}

/** The packer is used here only, and brings more packages than all of Handrail: it is no dependency of ours but fetched once, at one version. */
function packerProgram() {
  const home = join(root, '.cache', `mcpb-${packerVersion}`)
  const program = join(home, 'node_modules', packer, 'dist/cli/cli.js')
  if (!existsSync(program)) {
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'package.json'), '{ "private": true }\n')
    must(
      'npm',
      [
        'install',
        `${packer}@${packerVersion}`,
        '--save-exact',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--loglevel=error',
      ],
      `${packer} could not be installed. Is the npm registry reachable?`,
      { cwd: home },
    )
  }
  return program
}

setup()
rmSync(work, { recursive: true, force: true })
stageProgram()
stageStore()
const { server } = manifest([])
const described = manifest((await talk(stage, server.mcp_config)).tools)
writeFileSync(join(stage, 'manifest.json'), `${JSON.stringify(described, null, 2)}\n`)

const mcpb = packerProgram()
const bundle = join(work, `${about.name}-${about.version}.mcpb`)
must(process.execPath, [mcpb, 'validate', join(stage, 'manifest.json')], 'the manifest is not valid.')
must(process.execPath, [mcpb, 'pack', stage, bundle], 'the bundle could not be packed.')

const unpacked = mkdtempSync(join(tmpdir(), 'handrail-bundle-'))
try {
  must(process.execPath, [mcpb, 'unpack', bundle, unpacked], 'the bundle could not be unpacked.')
  const packed = JSON.parse(readFileSync(join(unpacked, 'manifest.json'), 'utf8'))
  const { tools, read } = await talk(unpacked, packed.server.mcp_config)
  const names = (list) => list.map(({ name }) => name).join(' ')
  if (!tools.length || names(tools) !== names(packed.tools))
    throw new Error('the bundle does not offer the tools its manifest names')
  if (read !== 'hello\n') throw new Error(`a tool of the bundle does not answer: ${JSON.stringify(read)}`)
  const bytes = readFileSync(bundle)
  const digest = createHash('sha256').update(bytes).digest('hex')
  process.stdout.write(
    `${JSON.stringify({ bundle, bytes: statSync(bundle).size, sha256: digest, tools: tools.length, provedOn: process.version }, null, 2)}\n`,
  )
} finally {
  rmSync(unpacked, { recursive: true, force: true })
}
