#!/usr/bin/env node
'use strict'
// Loads the built program with V8's cached code, so that a stdio server answers quickly. Without a build (a fresh
// clone), it builds first; everything it says goes to stderr, because stdout may belong to a protocol.
const { isAscii } = require('node:buffer')
const { existsSync, readFileSync } = require('node:fs')
const { join } = require('node:path')
const { createRequire } = require('node:module')
const vm = require('node:vm')

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`handrail needs Node 20.19 or later; this is ${process.version}.\n`)
  process.exit(2)
}

const root = join(__dirname, '..')
const file = join(root, 'dist', 'handrail.cjs')

if (!existsSync(file)) {
  const setup = join(root, 'scripts', 'setup.mjs')
  const { status } = existsSync(setup)
    ? require('node:child_process').spawnSync(process.execPath, [setup], { stdio: ['ignore', 2, 2] })
    : { status: 1 }
  if (status !== 0 || !existsSync(file)) {
    process.stderr.write('handrail is not built. Run `npm install` in its folder.\n')
    process.exit(2)
  }
}

const dist = join(root, 'dist')
const outside = createRequire(file)
const loaded = new Map()

// Parts of Node that most commands never come to: to load them takes several milliseconds of every start. Who serves comes to them soon.
const serves = ['mcp', 'serve', 'desk', 'devserver', 'acp', 'worker'].includes(process.argv[2])
const seldom = new Set([
  'node:child_process',
  'node:fs/promises',
  'node:net',
  'node:readline',
  'node:readline/promises',
  'node:stream/consumers',
  'node:timers/promises',
  'node:worker_threads',
  'node:zlib',
])

/** A part of Node that is loaded when something of it is asked for. */
function whenAsked(id) {
  let part
  const real = () => (part ??= outside(id))
  return new Proxy(
    {},
    {
      get: (_, name) => real()[name],
      has: (_, name) => name in real(),
      ownKeys: () => Reflect.ownKeys(real()),
      getOwnPropertyDescriptor(_, name) {
        const found = Reflect.getOwnPropertyDescriptor(real(), name)
        return found && { ...found, configurable: true }
      },
    },
  )
}

/** Like `require` for the built files, with V8's code cache beside each of them. */
function load(path) {
  const known = loaded.get(path)
  if (known) return known.module.exports
  const cache = path.replace(/\.cjs$/, '.cache')
  const bytes = readFileSync(path)
  // Nearly all of it is, and then nothing has to be decoded.
  const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, {
    filename: path,
    cachedData: existsSync(cache) ? readFileSync(cache) : undefined,
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const module = { exports: {} }
  loaded.set(path, { module, script, cache })
  script.runInThisContext()(
    module.exports,
    (id) => (id.startsWith('./') ? load(join(dist, id)) : !serves && seldom.has(id) ? whenAsked(id) : outside(id)),
    module,
    path,
    dist,
  )
  return module.exports
}

// Whoever reads our output may stop reading (`| head`): that is no fault.
process.stdout.on('error', (fault) => process.exit(fault.code === 'EPIPE' ? 0 : 74))

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** What is the same for everybody was written down when it was built: whoever asks for it need not wait for the program. */
function ready(words) {
  if (words.length > 1) return undefined
  const [word = '--help'] = words
  if (['--version', '-v', 'version'].includes(word)) return `${version}\n`
  if (!['--help', '-h', 'help'].includes(word)) return undefined
  const { isTTY, columns } = process.stdout
  const width = columns || Number(process.env.COLUMNS)
  // A narrow screen, or one that does not say how wide it is, gets its own.
  if (width >= 20 ? width < 80 : isTTY) return undefined
  const text = join(dist, isTTY && process.env.NO_COLOR === undefined ? 'help-colour.txt' : 'help.txt')
  return existsSync(text) ? readFileSync(text, 'utf8') : undefined
}

const answer = ready(process.argv.slice(2))
const program = answer === undefined ? load(file) : { main: async () => (process.stdout.write(answer), 0) }
// A card is drawn once. Code that V8 makes faster meanwhile is ready when all is drawn, and to make it takes a tenth of the command. Only now: a code
// cache fits no other settings of V8 than those it was made with.
if (process.argv[2] === 'approvals' && !['watch', 'page'].includes(process.argv[3])) require('node:v8').setFlagsFromString('--no-opt')
program
  .main(process.argv.slice(2), version)
  .then(
    (code) => {
      if (process.env.HANDRAIL_WRITE_CODE_CACHE)
        for (const { script, cache } of loaded.values()) require('node:fs').writeFileSync(cache, script.createCachedData())
      process.exitCode = code
      // Nothing but a finished command gets here; a handle left open must not keep the process alive.
      const unread = [process.stdout, process.stderr].filter((stream) => stream.writableLength > 0)
      const drained = unread.map((stream) => new Promise((resolve) => stream.once('drain', resolve)))
      if (unread.length === 0) process.exit(code)
      void Promise.all(drained).then(() => process.exit(code))
    },
    (fault) => {
      process.stderr.write(`${fault?.stack ?? fault}\n`)
      process.exit(70)
    },
  )
