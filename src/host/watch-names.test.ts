import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isOnLocalDisk } from './local-disk.ts'
import { watchNames } from './watch-names.ts'

const never = 2 ** 31 - 1

test.skipIf(!isOnLocalDisk(tmpdir()))(
  'a file below folders that are not there yet: made, changed, replaced, removed and made again',
  async () => {
    const base = mkdtempSync(join(tmpdir(), 'handrail-names-'))
    let tell = (): void => undefined
    let heard = 0
    const stop = watchNames(
      [join(base, 'one', 'two', 'file'), join(base, 'other')],
      () => {
        heard++
        tell()
      },
      never,
    )
    const after = async (act: () => void): Promise<void> => {
      const told = new Promise<void>((resolve) => (tell = resolve))
      act()
      await told
    }
    const folder = join(base, 'one', 'two')
    const file = join(folder, 'file')
    await after(() => mkdirSync(join(base, 'one')))
    await after(() => mkdirSync(folder))
    await after(() => writeFileSync(file, 'one'))
    await after(() => appendFileSync(file, 'two'))
    await after(() => {
      writeFileSync(join(folder, 'new'), 'three')
      renameSync(join(folder, 'new'), file)
    })
    await after(() => rmSync(file))
    await after(() => rmSync(folder, { recursive: true }))
    await after(() => mkdirSync(folder))
    await after(() => writeFileSync(file, 'four'))
    await after(() => writeFileSync(join(base, 'other'), 'five'))
    // What lies beside them is no matter; the witness comes after it.
    const before = heard
    writeFileSync(join(folder, 'beside'), 'x')
    await pause(150)
    await after(() => writeFileSync(join(base, 'other'), 'six'))
    expect(heard).toBe(before + 1)
    stop()
    rmSync(base, { recursive: true })
  },
)
