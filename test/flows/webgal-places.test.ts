import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { leftOpen } from '../support/left-open.ts'
import { asUser, cleanEnv, openWorld, program, runToExit } from '../support/world.ts'

// What may be named for `handrail webgal`: a scene, a folder of scenes, game/, build/, several projects, a folder of many games.

const english = { env: { HANDRAIL_LANG: 'EN' } }
const gbk = Buffer.from('d1a9c4cb3ac4e3bac3a3acced2c3c7b5c43b0a', 'hex')
const game = (background: string): Record<string, string> => ({
  [`${background}.png`]: 'picture',
  'spare/old.png': 'nobody names this one',
})

const files: Record<string, string | Buffer> = {
  ...Object.fromEntries(Object.entries(game('a')).map(([name, text]) => [`games/one/game/background/${name}`, text])),
  'games/one/game/scene/start.txt':
    'changeBg:a.png;\nsetVar:seen=true;\nMara:Two words, 海风;\nchoose:Go on:two.txt|Stay:here;\n',
  'games/one/game/scene/two.txt': ':{seen};\njumpLabel:nowhere -when=seen;\nend;\n',
  'games/two/game/background/b.png': '',
  'games/two/game/scene/start.txt': gbk,
  'games/two/game/scene/part/more.txt': gbk,
  'build/game/background/c.png': '',
  'build/game/scene/start.txt': 'changeScene:gone.txt;\n',
}

test('graph, report and convert take what validate takes, tell each game by name, and speak one language', async () => {
  await using world = await openWorld({ files })
  const at = (path: string): string => join(world.project, path)
  const run = (...words: string[]): ReturnType<typeof runInside> => runInside(world.project, ['webgal', ...words], english)
  const many = await run('graph', at('games'), at('build'))
  expect(many.code).toBe(1)
  expect(many.out).toMatch(
    /one\/game\nfrom[^]*Labels that are not there: here \(start\.txt:4\), nowhere \(two\.txt:2\)[^]*two\/game[^]*build\/game[^]*Scenes that are not there: gone\.txt/,
  )
  const scene = await run('graph', at('games/one/game/scene/two.txt'), '--json')
  expect(JSON.parse(scene.out)).toMatchObject({ game: 'game', scenes: [{ name: 'two.txt' }], ways: [{ from: 'two.txt' }] })
  const drawn = await run('graph', at('games'), '--svg')
  expect([drawn.code, drawn.out, drawn.err]).toEqual([2, '', expect.stringMatching(/one game[^]*one\/game, two\/game/)])
  expect((await run('graph', at('games/one/game/scene'), '--html')).out).toMatch(/^<!doctype html>[^]*<\/html>\n$/)

  const told = await run('report', at('games'))
  expect(told.out).toMatch(/one\/game\n2 scenes, 7 lines; 5 words and 2 CJK characters to read/)
  expect(told.out).toMatch(/Mara +1 +2 +2 +1 +start\.txt:3/)
  expect(told.out).toMatch(/seen +flag +1 +start\.txt:2 +2 +two\.txt:1, two\.txt:2/)
  expect(told.out).toMatch(/No scene uses these 1 files \(21 B\)\n +21 B +background\/spare\/old\.png/)
  const both = JSON.parse((await run('report', at('games'), '--json')).out) as { games: { game: string }[] }
  expect(both.games.map((one) => one.game)).toEqual(['one/game', 'two/game'])
  const chinese = await runInside(world.project, ['webgal', 'report', at('games/one')], { env: { HANDRAIL_LANG: 'ZH' } })
  const said = chinese.out.split('\n').slice(1).join('\n')
  expect(said.replaceAll(/[\w./:]+\.(?:txt|png)\S*|Mara|seen|B/g, '')).not.toMatch(/[A-Za-z]/)

  const one = await run('convert', at('games/two/game/scene/part'))
  expect(one.out).toContain('1 files are UTF-8 now')
  expect(readFileSync(at('games/two/game/scene/start.txt')).equals(gbk)).toBe(true)
  expect((await run('convert', at('games'))).out).toContain('1 files are UTF-8 now')
  expect((await run('convert', at('games'), at('build'))).out).toBe('Everything is UTF-8.\n')
  const none = await run('report', dirname(at('games/one/game/background/x')))
  expect([none.code !== 0, none.err]).toEqual([true, expect.stringContaining('There are no scenes below')])
})

/** Everything about a tree that somebody could have changed. */
function digest(folder: string): string {
  const hash = createHash('sha256')
  for (const name of ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()]) {
    const { mode, size, mtimeMs, ctimeMs, uid } = lstatSync(join(folder, name))
    hash.update(JSON.stringify([name, mode, size, mtimeMs, ctimeMs, uid]))
  }
  return hash.digest('hex')
}

test('what only reads works on a checkout that cannot be written to, and leaves it as it is', async () => {
  const base = mkdtempSync('/tmp/handrail-read-only-')
  const ended = leftOpen(() => rmSync(base, { recursive: true, force: true }))
  try {
    // Root may write anywhere: then it is somebody else who reads.
    const uid = process.getuid?.() === 0 ? 65_534 : (process.getuid?.() ?? 0)
    if (uid === 65_534) chownSync(base, uid, uid)
    const project = join(base, 'project')
    for (const [name, content] of Object.entries(files)) {
      if (!name.startsWith('games/one/')) continue
      const file = join(project, name.slice('games/one/'.length))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
    }
    for (const name of ['.', ...readdirSync(project, { recursive: true, encoding: 'utf8' })]) {
      const isFolder = lstatSync(join(project, name)).isDirectory()
      chmodSync(join(project, name), isFolder ? 0o555 : 0o444)
    }
    const before = digest(project)
    const run = (...words: string[]): ReturnType<typeof runToExit> =>
      runToExit(process.execPath, [program, 'webgal', ...words], {
        env: { ...cleanEnv(base), HANDRAIL_LANG: 'EN' },
        cwd: base,
        ...asUser(uid),
      })
    for (const [words, says] of [
      [['validate', project], /1 errors|Fine/],
      [['graph', project, '--html'], /<\/html>/],
      [['report', project], /No scene uses/],
      [['rename', 'seen', 'saw', project, '--dry-run'], /would change/],
    ] as const) {
      const { out, err } = await run(...words)
      expect([words[0], out, err]).toEqual([words[0], expect.stringMatching(says), ''])
    }
    expect(digest(project)).toBe(before)
  } finally {
    for (const name of ['.', ...readdirSync(join(base, 'project'), { recursive: true, encoding: 'utf8' })])
      chmodSync(join(base, 'project', name), 0o755)
    rmSync(base, { recursive: true, force: true })
    ended()
  }
})

test('--watch tells again when a scene is saved', async () => {
  await using world = await openWorld({
    files: { 'game/background/a.png': '', 'game/scene/start.txt': 'changeBg:a.png;\n' },
    onDisk: true,
  })
  const child = spawn(process.execPath, [program, 'webgal', 'validate', world.project, '--watch'], {
    env: { ...cleanEnv(world.base), HANDRAIL_LANG: 'EN' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(child, 'close')
  void gone.then(leftOpen(() => child.kill('SIGKILL')))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const verdict = async (): Promise<string> => {
    for (;;) {
      const { value, done } = (await lines.next()) as { value?: string; done?: boolean }
      if (done === true) throw new Error('it ended')
      if (/\d+ errors/.test(value ?? '')) return value ?? ''
    }
  }
  expect(await verdict()).toMatch(/^Fine: 1 scenes, 1 lines; 0 errors/)
  writeFileSync(join(world.project, 'game/scene/start.txt'), 'changeBG:a.png;\n')
  expect(await verdict()).toMatch(/^Not fine: .*1 errors/)
  child.kill()
  await gone
})
