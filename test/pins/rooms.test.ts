import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { keys, rooms, siblings } from '../../src/rooms.ts'
import { repository } from '../support/world.ts'

const source = join(repository, 'src')
/** What stands in no room: the start of the program, this map, and the number on the door. */
const outside = ['bin.ts', 'rooms.ts', 'version.ts']

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .filter((name) => !outside.includes(name))

interface Import {
  from: string
  to: string
}

const imports: Import[] = files.flatMap((from) => {
  const text = readFileSync(join(source, from), 'utf8')
  return [...text.matchAll(/(?:import|export)\s[^'"]*?from\s+'([^']+)'|import\('([^']+)'\)|import\s+'([^']+)'/g)].map(
    (match) => ({ from, to: (match[1] ?? match[2] ?? match[3]) as string }),
  )
})

const roomOf = (path: string): string => path.split('/')[0] as string
const target = ({ from, to }: Import): string => relative(source, resolve(source, dirname(from), to))

test('every file stands in a room of the map', () => {
  expect(files.filter((file) => !(roomOf(file) in rooms))).toEqual([])
})

test('a room uses only the rooms the map allows it', () => {
  const trespass = imports
    .filter(({ to }) => to.startsWith('.'))
    .filter((one) => target(one) !== 'version.ts')
    .map((one) => ({ ...one, room: roomOf(one.from), other: roomOf(target(one)) }))
    .filter(({ room, other }) => room !== other && !(rooms[room as keyof typeof rooms].may as readonly string[]).includes(other))
    .map(
      ({ from, to, room }) =>
        `src/${from} imports ${to}: ${room} may use ${rooms[room as keyof typeof rooms].may.join(', ') || 'nothing'}`,
    )
  expect(trespass).toEqual([])
})

test('siblings never import each other', () => {
  const shared = (path: string): boolean => path.split('/').length === 2
  const crossed = imports
    .filter(({ to }) => to.startsWith('.'))
    .map((one) => ({ from: one.from, to: target(one) }))
    .filter(({ from, to }) => (siblings as readonly string[]).includes(roomOf(from)) && roomOf(from) === roomOf(to))
    .filter(({ from, to }) => !shared(from) && !shared(to) && from.split('/')[1] !== to.split('/')[1])
  expect(crossed).toEqual([])
})

test('the disk, sockets, the database and what only the person holds have their rooms, processes one file', () => {
  const holds = (key: string, from: string): boolean => from === key || from.startsWith(`${key}/`)
  const named = (one: Import): string => (one.to.startsWith('.') ? target(one) : one.to)
  const taken = imports
    .filter((one) => keys[named(one)] !== undefined && ![keys[named(one)]].flat().some((key) => holds(key as string, one.from)))
    .map(({ from, to }) => `src/${from} imports ${to}`)
  expect(taken).toEqual([])
  // A key to what is not there guards nothing.
  expect(Object.keys(keys).filter((key) => key.endsWith('.ts') && !files.includes(key))).toEqual([])
})

test('a toolset knows of the host what its use.ts names, and opens none of it itself', () => {
  const ofHost = imports.filter((one) => /^toolsets\/[^/]+\//.test(one.from) && target(one).startsWith('host/'))
  const useOf = (file: string): string => `${file.split('/').slice(0, 2).join('/')}/use.ts`
  const named = new Set(ofHost.filter(({ from }) => from === useOf(from)).map((one) => `${one.from} ${target(one)}`))
  const strayed = ofHost
    .filter((one) => !named.has(`${useOf(one.from)} ${target(one)}`))
    .map((one) => `src/${one.from} imports ${target(one)}, which ${useOf(one.from)} does not name`)
  expect(strayed).toEqual([])
  const opening = files
    .filter((file) => file.startsWith('toolsets/'))
    .filter((file) =>
      /import \{[^}]*\b(open|close)[A-Z]\w*[^}]*\} from '[^']*host\//.test(readFileSync(join(source, file), 'utf8')),
    )
  expect(opening).toEqual([])
})

test('contracts and text run in a browser: no node: imports, no Node globals', () => {
  const inBrowsers = (file: string): boolean => ['contracts', 'text'].includes(roomOf(file))
  const words = files.filter(inBrowsers)
  expect(imports.filter(({ from, to }) => inBrowsers(from) && to.startsWith('node:'))).toEqual([])
  expect(words.filter((file) => /\b(Buffer\.|process\.)/.test(readFileSync(join(source, file), 'utf8')))).toEqual([])
})

test('there is no import cycle', () => {
  const graph = new Map<string, string[]>()
  for (const one of imports.filter(({ to }) => to.startsWith('.')))
    graph.set(one.from, [...(graph.get(one.from) ?? []), target(one)])
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file) || path.includes(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  expect(cycles).toEqual([])
})

test('no name hides what is inside', () => {
  expect(files.filter((file) => /(^|\/)(utils?|helpers?|common|misc|manager|service)([./-]|$)/i.test(file))).toEqual([])
})

test('errors are thrown in one form only', () => {
  const loose = files.filter((file) => /throw \{|throw '/.test(readFileSync(join(source, file), 'utf8')))
  expect(loose).toEqual([])
})
