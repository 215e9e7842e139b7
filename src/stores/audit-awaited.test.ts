import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { AuditLine } from '../contracts/audit.ts'
import { openLock } from '../host/lock.ts'
import { openStateFolder, type StateFolder } from '../host/state-folder.ts'
import { openAudit, type AuditStore } from './audit.ts'

// Lines that come together are one append: whoever waits for one hears of its own, and the log is in the order in which they were said.

const bases: string[] = []
afterEach(() => {
  for (const base of bases.splice(0)) rmSync(base, { recursive: true, force: true })
})

interface Opened {
  audit: AuditStore
  base: string
  /** How often something was appended to the log. */
  appends(): number
  lines(): AuditLine[]
}

function open(): Opened {
  const base = mkdtempSync(join(process.env['HANDRAIL_TEST_MEMORY'] ?? tmpdir(), 'handrail-log-'))
  bases.push(base)
  for (const name of ['state', 'apart']) mkdirSync(join(base, name))
  const state = openStateFolder(join(base, 'state'))
  let appends = 0
  const counted: StateFolder = {
    ...state,
    openLog(name) {
      const log = state.openLog(name)
      return {
        ...log,
        append(bytes) {
          appends++
          log.append(bytes)
        },
      }
    },
  }
  const place = { folder: openStateFolder(join(base, 'apart')), name: 'head' }
  const audit = openAudit(counted, openLock(join(base, 'lock')), place, { fileBytes: 1 << 30, keptDays: 0 })
  const lines = (): AuditLine[] =>
    readFileSync(join(base, 'state', 'audit.jsonl'), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((text) => JSON.parse(text) as AuditLine)
  return { audit, base, appends: () => appends, lines }
}

const said = (all: AuditLine[]): (string | undefined)[] => all.map(({ message }) => message)
const line = (message: string): { event: 'run.queued'; message: string } => ({ event: 'run.queued', message })

test('a hundred lines of one event are one append, each in the log when its promise resolves', async () => {
  const { audit, appends, lines } = open()
  const names = Array.from({ length: 100 }, (_, n) => `line ${n}`)
  await Promise.all(
    names.map(async (name) => {
      await audit.writeTogether(line(name))
      expect(said(lines())).toContain(name)
    }),
  )
  expect(said(lines())).toEqual(names)
  expect(appends()).toBe(1)
  expect(audit.verify()).toMatchObject({ whole: true, lines: 100 })
  audit.close()
})

test('what is written on the spot takes along what was said before it, and stands behind it', async () => {
  const { audit, lines } = open()
  const first = audit.writeTogether(line('first'))
  audit.note(line('second'))
  audit.write(line('third'), true)
  expect(said(lines())).toEqual(['first', 'second', 'third'])
  await first
  const fourth = audit.writeTogether(line('fourth'))
  audit.close()
  await fourth
  expect(said(lines())).toEqual(['first', 'second', 'third', 'fourth'])
})

test('where the log was swapped each of them is told, and none of their lines appears later', async () => {
  const { audit, base, lines } = open()
  await audit.writeTogether(line('before'))
  const log = join(base, 'state', 'audit.jsonl')
  renameSync(log, `${log}.away`)
  writeFileSync(log, '')
  const ends = await Promise.allSettled(['one', 'two'].map((name) => audit.writeTogether(line(name))))
  expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected'])
  renameSync(`${log}.away`, log)
  await audit.writeTogether(line('after'))
  expect(said(lines())).toEqual(['before', 'after'])
  audit.close()
})

test('a line on its way when a new log is started is in neither', async () => {
  const { audit, lines } = open()
  await audit.writeTogether(line('before'))
  const told = audit.writeTogether(line('between')).catch((fault: Error) => fault.message)
  audit.renew()
  expect(await told).toContain('new log')
  expect(lines().map(({ event }) => event)).toEqual(['audit.renewed'])
  audit.close()
})
