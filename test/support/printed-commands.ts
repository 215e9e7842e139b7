import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { commands } from '../../src/bin.ts'
import { repository } from './world.ts'

export interface Printed {
  /** As it stands there. */
  text: string
  where: string
}

const read = (file: string): string => readFileSync(join(repository, file), 'utf8')

/** Every command of ours that people are told to type: in the README, the guides, the help, hints of faults and what the program suggests. */
export function printedCommands(): Printed[] {
  const guides = readdirSync(join(repository, 'docs/guide')).map((name) => `docs/guide/${name}`)
  const found = [
    ...['README.md', 'README.zh-CN.md', ...guides].flatMap(inMarkdown),
    ...commands.flatMap(({ name, examples, about }) => [
      ...examples.map((text) => ({ text: plain(text), where: `help of ${name}` })),
      ...inBackquotes(about, `help of ${name}`),
    ]),
    ...sources(join(repository, 'src')).flatMap(inSource),
  ]
  const unique = new Map(found.map((one) => [one.text, one]))
  return [...unique.values()].filter(({ text }) => text !== 'handrail')
}

function inMarkdown(file: string): Printed[] {
  const text = read(file)
  const blocks = [...text.matchAll(/^ *```(?:sh|bash|console|shell)\n(.*?)^ *```/gms)].flatMap(([, block = '']) =>
    block.split('\n'),
  )
  const typed = blocks.flatMap((line) => {
    const [, command] = /^ *(?:\$ )?((?:handrail|node bin\/handrail\.js) .*)$/.exec(line) ?? []
    return command === undefined ? [] : [{ text: plain(command), where: file }]
  })
  return [...typed, ...inBackquotes(text.replaceAll(/^ *```.*?^ *```/gms, ''), file)]
}

function inBackquotes(text: string, where: string): Printed[] {
  return [...text.matchAll(/`((?:handrail|node bin\/handrail\.js) [^`]+)`/g)].map(([, command = '']) => ({
    text: plain(command),
    where,
  }))
}

/** Hints in backquotes, and what is made into a command about the same project. */
function inSource(file: string): Printed[] {
  const text = readFileSync(file, 'utf8')
  const where = file.slice(repository.length + 1)
  // A backquote without a stroke before it ends a template of ours where something is filled in, and no hint.
  const hints = [...text.matchAll(/(\\?)`(handrail [^`\\]+)\\?`/g)].flatMap(([, stroke, command = '']) =>
    stroke === '' && command.includes('${') ? [] : [command],
  )
  const made = [...text.matchAll(/\b(?:command|here|commandHere)\(\s*(?:'([^'\n]+)'|`([^`\n]+)`)[,)]/g)].map(
    ([, words, template]) => `handrail ${words ?? template ?? ''}`,
  )
  return [...hints, ...made].map((command) => ({ text: plain(command), where }))
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sources(path)
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : []
  })
}

/** Without the words beside it, and without what a shell does with its output. */
function plain(command: string): string {
  return command
    .replace(/\s{2,}#.*$|\s#\s.*$/, '')
    .replace(/\s*(?:>|\||&&|;|&)\s.*$/, '')
    .replace(/^node bin\/handrail\.js/, 'handrail')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** A command as a shell splits it. */
export function shellWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s'"]|'[^']*'|"(?:\\.|[^"\\])*")+/g)].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|"((?:\\.|[^"\\])*)"/g,
      (_, single?: string, double?: string) => single ?? double?.replaceAll(/\\(.)/g, '$1') ?? '',
    ),
  )
}
