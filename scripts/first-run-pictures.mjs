// Makes the pictures of docs/guide/first-run.md: `npm start` in a fresh clone, at a real terminal and in a real browser, in five actions of a person.
// `node scripts/first-run-pictures.mjs [FOLDER]`; without a folder they go to docs/pictures. Needs git, python3 and a Chromium.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { smallPng } from './small-png.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const into = resolve(process.argv[2] ?? join(root, 'docs', 'pictures'))
/** The same in every picture, whoever makes it. */
const clone = join(tmpdir(), 'handrail')
const base = join(tmpdir(), 'handrail-first-run')
const columns = 96
const mostBytes = 100_000

/** A terminal around a program, made by Python: Node has none. What comes in is typed, what it shows goes out. */
const terminal = `
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 40, ${columns}, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
ends = [fd, 0]
while True:
    ready, _, _ = select.select(ends, [], [])
    if fd in ready:
        try: piece = os.read(fd, 65536)
        except OSError: break
        if not piece: break
        os.write(1, piece)
    if 0 in ready:
        piece = os.read(0, 65536)
        if piece: os.write(fd, piece)
        else: ends = [fd]
os.kill(pid, 15)
`

function openClone() {
  if (existsSync(clone)) throw new Error(`${clone} is there already: it is what the pictures show, so remove it first`)
  rmSync(base, { recursive: true, force: true })
  mkdirSync(base, { recursive: true })
  const cloned = spawnSync('git', ['clone', '-q', root, clone], { stdio: 'inherit' })
  if (cloned.status !== 0) throw new Error('git could not clone this repository')
  // What `npm start` would fetch; linked, so that it takes no room.
  const linked = spawnSync('cp', ['-al', join(root, 'node_modules'), join(clone, 'node_modules')])
  if (linked.status !== 0) cpSync(join(root, 'node_modules'), join(clone, 'node_modules'), { recursive: true })
}

function start(command, args) {
  const environment = {
    PATH: process.env['PATH'],
    HOME: join(base, 'home'),
    TERM: 'xterm-256color',
    npm_config_update_notifier: 'false',
  }
  mkdirSync(environment.HOME)
  const child = spawn('python3', ['-c', terminal, command, ...args], {
    cwd: clone,
    env: environment,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  let wake = () => undefined
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    text += piece
    wake()
  })
  return {
    text: () => text,
    async shows(words) {
      while (!text.includes(words)) await new Promise((done) => (wake = done))
    },
    type: (words) => child.stdin.write(words),
    async end() {
      child.stdin.write('\u0003')
      await new Promise((done) => child.once('close', done))
    },
  }
}

const paints = {
  1: 'font-weight:700',
  2: 'color:#8b949e',
  31: 'color:#ff7b72',
  32: 'color:#7ee787',
  33: 'color:#e3b341',
  36: 'color:#79c0ff',
}

/** The last rows of a terminal as a page. */
function terminalPage(shown, rows) {
  const escape = (text) => text.replace(/[&<>]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[one])
  // eslint-disable-next-line no-control-regex
  const lines = shown
    .replaceAll(/[\r\u0007]/g, '')
    .split('\n')
    .map((line) => line.replace(/^.*\u001b\[1G(?:\u001b\[0?[JK])?/, ''))
  const wrapped = lines.flatMap((line) => rowsOf(line))
  let style = []
  const html = wrapped.slice(-rows).map((line) =>
    line
      // eslint-disable-next-line no-control-regex
      .split(/(\u001b\[[0-9;]*[A-Za-z])/)
      .map((part) => {
        // eslint-disable-next-line no-control-regex
        const [, codes] = /^\u001b\[([0-9;]*)m$/.exec(part) ?? []
        if (codes === undefined) return part.startsWith('\u001b') ? '' : `<span style="${style.join(';')}">${escape(part)}</span>`
        for (const code of codes.split(';').map(Number)) style = code in paints ? [...style, paints[code]] : []
        return ''
      })
      .join(''),
  )
  return `<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#0d1117}pre{margin:0;padding:14px 18px;color:#e6edf3;font:14px/1.45 "DejaVu Sans Mono",ui-monospace,monospace;width:${columns}ch}</style><pre>${html.join('\n')}</pre>`
}

/** As a terminal of this width breaks it; what paints takes no room. */
function rowsOf(line) {
  const rows = ['']
  let width = 0
  // eslint-disable-next-line no-control-regex
  for (const part of line.match(/\u001b\[[0-9;]*[A-Za-z]|./gsu) ?? []) {
    if (!part.startsWith('\u001b') && ++width > columns) {
      rows.push('')
      width = 1
    }
    rows[rows.length - 1] += part
  }
  return rows
}

async function main() {
  openClone()
  mkdirSync(into, { recursive: true })
  const { chromium } = createRequire(import.meta.url)('playwright-core')
  const executablePath = ['chromium-headless-shell', 'chromium', 'google-chrome']
    .map((name) => `/usr/bin/${name}`)
    .find((file) => existsSync(file))
  // Chinese is there also where the system has no letters for it: the engine of the sample game brings some.
  const fonts = join(base, 'data', 'fonts')
  const letters = join(root, 'node_modules', 'webgal-engine', 'dist', 'assets')
  mkdirSync(fonts, { recursive: true })
  for (const name of readdirSync(letters).filter((one) => one.startsWith('OPPOSans')))
    cpSync(join(letters, name), join(fonts, name))
  const browser = await chromium.launch({
    env: { ...process.env, XDG_DATA_HOME: join(base, 'data') },
    executablePath,
    args: ['--no-sandbox', '--font-render-hinting=none'],
  })
  const open = async (options) =>
    (await browser.newContext({ locale: 'en-GB', viewport: { width: 820, height: 760 }, ...options })).newPage()
  const keep = async (tab, name, options = {}) => {
    const file = join(into, name)
    writeFileSync(file, smallPng(await tab.screenshot(options)))
    const bytes = statSync(file).size
    process.stderr.write(`${name}: ${bytes} bytes\n`)
    if (bytes > mostBytes) throw new Error(`${name} is larger than ${mostBytes} bytes`)
  }
  const screen = await open({ viewport: { width: 860, height: 400 } })
  const keepTerminal = async (name, text, rows) => {
    await screen.setContent(terminalPage(text, rows))
    await keep(screen.locator('pre'), name)
  }

  // 1: npm start. An agent asks.
  const npm = start('npm', ['start', '--', '--port', '0'])
  await npm.shows('words after it go to the agent: ')
  const asked = npm.text()
  // The beginning of the card and its end: what is between is in the next picture.
  const from = asked.indexOf('A scripted agent works')
  await keepTerminal(
    'first-run-1.png',
    `${asked.slice(asked.lastIndexOf('\n', from) + 1, asked.lastIndexOf('\n', asked.indexOf('game/scene/letter.txt')) + 1)}   …\n${asked.slice(asked.lastIndexOf('\n', asked.indexOf('You are asked because')) + 1)}`,
    60,
  )
  // 2: the link, and the button on it.
  // eslint-disable-next-line no-control-regex
  const link = /http:\S+\/sign-in\?key=[\w.-]+/.exec(asked)?.[0] ?? ''
  const tab = await open()
  await tab.goto(link)
  await tab.locator('button.yes').click()
  await tab.waitForURL(/\/approvals$/)
  await tab.locator('.one a').click()
  await keep(tab, 'first-run-2.png')
  const narrow = await tab
    .context()
    .browser()
    .newContext({ viewport: { width: 360, height: 720 }, colorScheme: 'dark', locale: 'zh-CN' })
  await narrow.addCookies(await tab.context().cookies())
  const small = await narrow.newPage()
  await small.goto(tab.url())
  await keep(small, 'first-run-zh.png')
  await narrow.close()
  // 3: approve. 4: the number that only this page shows.
  await tab.locator('button.yes').click()
  await tab.locator('input[name=number]').fill((await tab.locator('.number').innerText()).trim())
  await tab.setViewportSize({ width: 820, height: 560 })
  await keep(tab, 'first-run-3.png')
  await tab.keyboard.press('Enter')
  await npm.shows('Enter undoes it: ')
  // 5: back in the terminal, Enter takes it back, and the log is there.
  npm.type('\r')
  await npm.shows('is it intact?')
  const all = npm.text()
  const end = all.indexOf('\n', all.indexOf('is it intact?'))
  await keepTerminal('first-run-4.png', all.slice(all.lastIndexOf('\n', all.indexOf('Applied to your project')) + 1, end), 60)
  await tab.goto(tab.url().replace(/\/approvals.*/, '/approvals'))
  await browser.close()
  await npm.end()
}

try {
  await main()
} finally {
  for (const folder of [base, clone]) rmSync(folder, { recursive: true, force: true })
}
