import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pathRules } from '../paths.ts'
import { guardHidden, hiddenViewOf } from './hidden-guard.ts'
import { watchHidden } from './hidden.ts'

const login = '[remote "o"]\n\turl = https://u:CANARY@example.com/x\n'
const plain = '[core]\n'

/** What a program that ran meanwhile may have seen, in words; `act` is done in one go, so that nobody can look between. */
async function seenWhile(act: (at: (path: string) => string) => void, live = false): Promise<string | undefined> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const at = (path: string): string => join(base, path)
  for (const path of ['conf/x', '.git/objects', '.git/refs', '.git/logs', 'out/aside/deep'])
    mkdirSync(at(path), { recursive: true })
  writeFileSync(at('.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(at('.git/config'), plain)
  writeFileSync(at('.git/FETCH_HEAD'), 'abc\n')
  writeFileSync(at('conf/.env'), 'CANARY')
  writeFileSync(at('conf/y.txt'), 'y')
  const away = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const watch = watchHidden(base, { rules: pathRules(['.git', 'node_modules']), visible: ['.git', 'node_modules'] })
  const view = hiddenViewOf([watch])
  try {
    const hides = await view.scan()
    let seen: string | undefined
    const unguard = guardHidden(view, hides, '', (one) => void (seen ??= one.says), live)
    act((path) => (path.startsWith('away/') ? join(away, path.slice(5)) : at(path)))
    // As at the end of every program.
    await view.scan()
    await view.scan()
    unguard()
    return seen
  } finally {
    watch.close()
    for (const folder of [base, away]) rmSync(folder, { recursive: true, force: true })
  }
}

type At = (path: string) => string
const comesAndGoes: Record<string, [string, (at: At) => void]> = {
  'in a folder that is new': [
    'conf/fresh came and went',
    (at) => {
      mkdirSync(at('conf/fresh'))
      writeFileSync(at('conf/fresh/.env'), 'CANARY')
      rmSync(at('conf/fresh'), { recursive: true })
    },
  ],
  'in a folder of a folder that is new': [
    'conf/fresh came and went',
    (at) => {
      mkdirSync(at('conf/fresh/deep'), { recursive: true })
      writeFileSync(at('conf/fresh/deep/id_rsa'), 'CANARY')
      rmSync(at('conf/fresh'), { recursive: true })
    },
  ],
  'with its folder, which is moved in and out': [
    'conf/aside came and went',
    (at) => {
      mkdirSync(at('away/aside'))
      writeFileSync(at('away/aside/.env'), 'CANARY')
      renameSync(at('away/aside'), at('conf/aside'))
      renameSync(at('conf/aside'), at('away/aside'))
    },
  ],
  'after another folder of that name': [
    'conf/x came and went',
    (at) => {
      rmSync(at('conf/x'), { recursive: true })
      mkdirSync(at('conf/x'))
      writeFileSync(at('conf/x/.env'), 'CANARY')
      rmSync(at('conf/x'), { recursive: true })
    },
  ],
  'and its folder stays': [
    'conf/fresh/deep/.env came while it ran',
    (at) => {
      mkdirSync(at('conf/fresh/deep'), { recursive: true })
      writeFileSync(at('conf/fresh/deep/.env'), 'CANARY')
    },
  ],
  'in settings that are written in place': [
    '.git/config came and went, or was changed and changed back',
    (at) => {
      writeFileSync(at('.git/config'), login)
      writeFileSync(at('.git/config'), plain)
    },
  ],
  'in settings that are replaced, as git does it': [
    '.git/config came and went, or was changed and changed back',
    (at) => {
      for (const text of [login, plain]) {
        writeFileSync(at('.git/config.lock'), text)
        renameSync(at('.git/config.lock'), at('.git/config'))
      }
    },
  ],
}
test.each(Object.entries(comesAndGoes))('a secret that comes and goes %s', async (_, [says, act]) => {
  expect(await seenWhile(act)).toContain(says)
})

const ordinary: Record<string, (at: At) => void> = {
  'what editors write for a moment': (at) => {
    for (const name of ['conf/4913', 'conf/.y.txt.swp', 'conf/.handrail-0123456789abcdef.tmp']) {
      writeFileSync(at(name), 'x')
      rmSync(at(name))
      writeFileSync(at(name), 'x')
      rmSync(at(name))
    }
  },
  'an old file laid aside until the new one stands': (at) => {
    writeFileSync(at('conf/y.txt___jb_tmp___'), 'new')
    renameSync(at('conf/y.txt'), at('conf/y.txt___jb_old___'))
    renameSync(at('conf/y.txt___jb_tmp___'), at('conf/y.txt'))
    rmSync(at('conf/y.txt___jb_old___'))
    renameSync(at('conf/y.txt'), at('conf/y.txt~'))
    writeFileSync(at('conf/y.txt'), 'newer')
    rmSync(at('conf/y.txt~'))
  },
  'git looks, locks and fetches': (at) => {
    closeSync(openSync(at('.git/index.lock'), 'wx'))
    rmSync(at('.git/index.lock'))
    writeFileSync(at('.git/FETCH_HEAD'), '')
    writeFileSync(at('.git/FETCH_HEAD'), 'abc\n')
    chmodSync(at('.git/config'), 0o600)
  },
  'files and folders come, and others go': (at) => {
    mkdirSync(at('conf/new/deep/er'), { recursive: true })
    writeFileSync(at('conf/new/deep/z.txt'), 'z')
    mkdirSync(at('node_modules/.x/y'), { recursive: true })
    rmSync(at('conf/x'), { recursive: true })
    rmSync(at('conf/y.txt'))
    renameSync(at('out/aside'), at('out/besides'))
  },
}
test.each(Object.entries(ordinary))('nothing is withheld for what is ordinary: %s', async (_, act) => {
  expect(await seenWhile(act)).toBeUndefined()
})

test('a server that runs for days is not ended for a folder that came and went, and is for a secret', async () => {
  const build = (at: At): void => (mkdirSync(at('conf/tmp')), rmSync(at('conf/tmp'), { recursive: true }))
  expect(await seenWhile(build, true)).toBeUndefined()
  expect(await seenWhile((at) => (writeFileSync(at('conf/id_rsa'), 'x'), rmSync(at('conf/id_rsa'))), true)).toContain(
    'conf/id_rsa',
  )
})
