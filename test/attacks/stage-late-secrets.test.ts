import { existsSync, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { oneUser, openGround, type Ground } from '../support/ground.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { soon, stagesLeft } from '../support/stage.ts'
import type { CliEnd } from '../support/world.ts'

const canary = 'CANARY-late-77'

/** Two ways each that are alike: in `npm test` one of them, drawn with every seed. */
const drawn = draws('late secrets')
const pair = (): [boolean, boolean] => {
  const isFirst = drawn(2) === 0
  return [isSoak || isFirst, isSoak || !isFirst]
}
const [removed, removedAtOnce] = pair()
const [moved, twoNames] = pair()
const [folder, folderAtOnce] = pair()
const [settings, settingsAtOnce] = pair()

describe.each(oneUser)('run by %s: a secret that comes while a program runs, and goes before it ends', (_, uid) => {
  let ground: Ground
  beforeEach(() => {
    ground = openGround(uid)
    for (const path of ['conf/.git', 'conf/x']) mkdirSync(at(path), { recursive: true })
    for (const path of ['conf/.env', 'conf/plain.txt']) writeFileSync(at(path), `${canary}\n`)
    writeFileSync(at('conf/.git/config'), '[core]\n')
    ground.give(ground.project)
  })
  afterEach(() => ground[Symbol.dispose]())
  const at = (path: string): string => join(ground.project, path)
  const made = (name: string): boolean => stagesLeft(ground.base).some((stage) => existsSync(join(stage, 'upper', name)))

  /** Runs a program that prints `path` once it can, and then waits for `done`; `act` and `undo` are done around that. */
  const race = async (
    path: string,
    act: () => void,
    undo: () => void,
    stays: 'until it is read' | 'until it is seen' = 'until it is read',
  ): Promise<CliEnd & { read: boolean }> => {
    // Listed, since a name that was looked for before it came is not found by an overlay; and read where it stands already.
    const [within, name] = [dirname(path), basename(path)]
    const done = 'ls conf | grep -qx done'
    const command = `echo > up; until { ls -aR conf | grep -qx ${name} && grep -qs ${canary} ${path}; } || ${done}; do sleep 0.05; done; cat ${within}/${name}; echo > read; until ${done}; do sleep 0.05; done; rm up read`
    const words = ['call', 'shell', JSON.stringify({ command, timeout_seconds: 30 }), '--project', ground.project]
    let ended = false
    const running = ground.cli([...words, '--enable-shell', '--wait', '0']).finally(() => (ended = true))
    expect(await soon(() => made('up') || ended)).toBe(true)
    act()
    // What is seen ends the program. What is in a folder that is new itself, or in a file, is known from the next look on: on a busy machine that is a while.
    await soon(() => ended || (stays === 'until it is read' && made('read')), stays === 'until it is read' ? 3_000 : 45_000)
    const read = made('read')
    undo()
    writeFileSync(at('conf/done'), '')
    return { ...(await running), read }
  }
  const withheld = (end: CliEnd, path: string): void => {
    expect(`${end.out}${end.err}`).not.toContain(canary)
    expect(end.err).toContain('withheld')
    expect(end.err).toContain(path)
  }

  test.runIf(removed)('is made and removed', async () => {
    withheld(
      await race(
        'conf/x/.env.late',
        () => writeFileSync(at('conf/x/.env.late'), canary),
        () => rmSync(at('conf/x/.env.late')),
      ),
      'conf/x/.env.late',
    )
  })

  test.runIf(removedAtOnce)('is there for no longer than it takes to remove it', async () => {
    const quick = (): void => (writeFileSync(at('conf/id_rsa'), 'x'), rmSync(at('conf/id_rsa')))
    withheld(await race('conf/none', quick, () => undefined), 'conf/id_rsa')
  })

  test.runIf(moved)('is moved to a plain name and back', async () => {
    withheld(
      await race(
        'conf/notes.txt',
        () => renameSync(at('conf/.env'), at('conf/notes.txt')),
        () => renameSync(at('conf/notes.txt'), at('conf/.env')),
      ),
      'conf/.env',
    )
  })

  test.runIf(twoNames)('gets a second name', async () => {
    withheld(
      await race(
        'conf/second.txt',
        () => linkSync(at('conf/.env'), at('conf/second.txt')),
        () => undefined,
      ),
      'conf/.env',
    )
  })

  test.runIf(folder)('is moved in with its folder and out again', async () => {
    mkdirSync(join(ground.base, 'aside'))
    writeFileSync(join(ground.base, 'aside/.env.aside'), canary)
    ground.give(join(ground.base, 'aside'))
    withheld(
      await race(
        'conf/aside/.env.aside',
        () => renameSync(join(ground.base, 'aside'), at('conf/aside')),
        () => renameSync(at('conf/aside'), join(ground.base, 'aside')),
        'until it is seen',
      ),
      'conf/aside/.env.aside',
    )
  })

  test.runIf(settings)('is written into git’s settings and taken out', async () => {
    withheld(
      await race(
        'conf/.git/config',
        () => writeFileSync(at('conf/.git/config'), `[remote "o"]\n\turl = https://u:${canary}@example.com/x\n`),
        () => writeFileSync(at('conf/.git/config'), '[core]\n'),
        'until it is seen',
      ),
      'conf/.git/config',
    )
  })

  // As fast as it goes: nobody can look between. The other ways are in host/stage/hidden-guard.test.ts.
  test.runIf(folderAtOnce)('is moved in with its folder and out again at once', async () => {
    const inAndOut = (): void => {
      mkdirSync(join(ground.base, 'aside'))
      writeFileSync(join(ground.base, 'aside/.env.aside'), canary)
      renameSync(join(ground.base, 'aside'), at('conf/aside'))
      renameSync(at('conf/aside'), join(ground.base, 'aside'))
    }
    withheld(await race('conf/none', inAndOut, () => undefined), 'conf/aside')
  })

  test.runIf(settingsAtOnce)('is written into git’s settings and taken out at once', async () => {
    const inAndOut = (): void => {
      writeFileSync(at('conf/.git/config'), `[remote "o"]\n\turl = https://u:${canary}@example.com/x\n`)
      writeFileSync(at('conf/.git/config'), '[core]\n')
    }
    withheld(await race('conf/none', inAndOut, () => undefined), 'conf/.git/config')
  })

  test('while ordinary files come and go, also Handrail’s own on their way, nothing is withheld', async () => {
    const busy = (): void => {
      for (const name of ['conf/4913', 'conf/.plain.txt.swp', 'conf/.handrail-0123456789abcdef.tmp']) {
        writeFileSync(at(name), 'x')
        rmSync(at(name))
      }
      // What is new stays: of a folder that is new and empty again nobody knows what was in it, and that is withheld.
      mkdirSync(at('conf/new/deep'), { recursive: true })
      writeFileSync(at('conf/new/deep/x.txt'), 'x')
      writeFileSync(at('conf/.env'), 'changed in place')
    }
    const end = await race('conf/plain.txt', busy, () => undefined)
    expect(end.out, JSON.stringify(end)).toContain(canary)
    expect(end.read).toBe(true)
  })
})
