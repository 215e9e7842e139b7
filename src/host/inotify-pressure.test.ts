import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLinkNames } from './links/link-names.ts'
import { pathRules } from './paths.ts'
import { watchFolders } from './stage/folder-watch.ts'
import { watchHidden } from './stage/hidden.ts'
import { openMirror } from './stage/mirror.ts'
import { closeRoot, openRoot, type Root } from './walk.ts'
import { watchFile } from './watch-file.ts'
import { watchNames } from './watch-names.ts'

const queued = process.platform === 'linux' ? Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1')) : 0
/** Elsewhere nothing is lost, or it would take too long. */
const floods = test.runIf(queued > 0 && queued <= 65_536)
const rules = pathRules([])

let base: string
let quiet: string
let root: Root
let closing: (() => void)[] = []
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-flood-')))
  quiet = join(base, 'quiet')
  mkdirSync(join(quiet, 'conf'), { recursive: true })
  mkdirSync(join(base, 'loud/x'), { recursive: true })
  writeFileSync(join(quiet, 'conf/plain.txt'), 'one')
  root = openRoot(quiet)
})
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close()
  closeRoot(root)
  rmSync(base, { recursive: true, force: true })
})

/** A folder that only this watch follows; gives a way to have more happen there at once than the system keeps for us, and to give it up. */
const besideIt = (): { flood(): void; giveUp(): void } => {
  const folder = { at: join(base, 'loud') }
  const watch = watchFolders<typeof folder>(folder.at, () => undefined)
  closing.push(() => watch.close())
  expect(watch.follow(folder)).toBe(true)
  const ways = [join(base, 'loud/x'), join(base, 'loud/y')] as const
  return {
    flood() {
      for (let told = 0; told <= queued; told += 4) {
        renameSync(ways[0], ways[1])
        renameSync(ways[1], ways[0])
      }
    },
    giveUp: () => watch.forget(folder),
  }
}

const linksOf = (): { hidden: () => string[]; judge: () => Promise<void> | undefined } => {
  let hidden: ReadonlySet<string> = new Set()
  const links = openLinkNames(root, rules, { hideBehind: (places) => void (hidden = places) })
  closing.push(() => links.close())
  return { hidden: () => [...hidden], judge: () => links.hideLinkedSecrets() }
}

test('a link that was made before a call came is judged in it, though nothing was heard of it yet', async () => {
  const { hidden, judge } = linksOf()
  await judge()
  for (let round = 0; round < 20; round++) {
    symlinkSync('plain.txt', join(quiet, 'conf/.env'))
    await judge()
    expect(hidden()).toEqual(['conf/plain.txt'])
    rmSync(join(quiet, 'conf/.env'))
    await judge()
    expect(hidden()).toEqual([])
  }
})

floods('a link whose word was lost in a flood of another folder is judged', async () => {
  const { flood } = besideIt()
  const { hidden, judge } = linksOf()
  await judge()
  flood()
  symlinkSync('plain.txt', join(quiet, 'conf/.env'))
  await judge()
  expect(hidden()).toEqual(['conf/plain.txt'])
})

floods('what a watch had to say that is given up unheard counts too', async () => {
  const { flood, giveUp } = besideIt()
  const { hidden, judge } = linksOf()
  await judge()
  flood()
  symlinkSync('plain.txt', join(quiet, 'conf/.env'))
  giveUp()
  await judge()
  expect(hidden()).toEqual(['conf/plain.txt'])
})

floods('a secret whose word was lost is hidden at the next look, and who follows is told to look', async () => {
  const { flood } = besideIt()
  const watch = watchHidden(quiet, { rules, visible: [] })
  closing.push(() => watch.close())
  expect(await watch.scan()).toEqual([])
  const told = new Promise<void>((resolve) => closing.push(watch.follow(() => resolve())))
  flood()
  writeFileSync(join(quiet, 'conf/.env'), 'KEY=1\n')
  await told
  expect((await watch.scan()).map(({ path }) => path)).toEqual(['conf/.env'])
})

floods('a mirror whose words were lost shows what is there, also in a folder that was put in the place of another', async () => {
  const { flood } = besideIt()
  const sorting = { rules, visible: [] }
  const hiddenView = watchHidden(quiet, sorting)
  closing.push(() => hiddenView.close())
  const folder = join(base, 'mirror')
  mkdirSync(folder)
  const mirror = await openMirror({ project: root, sorting, hiddenView, folder, onLost: (why) => expect.unreachable(why) })
  if (!mirror) return expect.unreachable('no mirror')
  closing.push(() => mirror.close())
  const shown = (): string => readFileSync(join(mirror.folder, 'conf/plain.txt'), 'utf8')
  await mirror.caughtUp()
  expect(shown()).toBe('one')
  flood()
  mkdirSync(join(base, 'other'))
  writeFileSync(join(base, 'other/plain.txt'), 'two')
  renameSync(join(quiet, 'conf'), join(base, 'was'))
  renameSync(join(base, 'other'), join(quiet, 'conf'))
  await mirror.caughtUp()
  await mirror.caughtUp()
  expect(shown()).toBe('two')
  writeFileSync(join(quiet, 'conf/plain.txt'), 'three')
  await mirror.caughtUp()
  expect(shown()).toBe('three')
})

floods('who waits for a file or a name is told, though the word of it was lost', async () => {
  const { flood } = besideIt()
  const file = join(quiet, 'conf/plain.txt')
  const changed = new Promise<void>((resolve) => closing.push(watchFile(file, resolve)))
  const came = new Promise<void>((resolve) => closing.push(watchNames([join(quiet, 'new/deep/file')], resolve, 3_600_000)))
  flood()
  writeFileSync(file, 'two')
  mkdirSync(join(quiet, 'new/deep'), { recursive: true })
  await Promise.all([changed, came])
})
