import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as oracle from 'webgal-parser'
import { commands } from './commands.ts'
import { foldLines } from './fold.ts'
import { parseChoices, parseScene, statementsOf, type Statement } from './parse.ts'

const { SCRIPT_CONFIG, ADD_NEXT_ARG_LIST } = oracle
type Parser = new (...args: unknown[]) => { parse(text: string, name: string, url: string): { sentenceList: Sentence[] } }
const SceneParser = ((oracle as unknown as { default: { default?: Parser } }).default.default ??
  oracle.default) as unknown as Parser

interface Sentence {
  command: number
  commandRaw: string
  content: string
  args: { key: string; value: unknown }[]
  inlineComment: string
}

const asIs = (name: string): string => name
const parser = new SceneParser(() => undefined, asIs, ADD_NEXT_ARG_LIST, SCRIPT_CONFIG)
const known = SCRIPT_CONFIG as { scriptString: string; scriptType: number }[]
const nameOf = new Map(known.map(({ scriptString, scriptType }) => [scriptType, scriptString]))
const names = new Set(known.map(({ scriptString }) => scriptString))

/** A statement of ours as the other parser would describe it. */
function theirs({ command, head, speaker, content, args, comment }: Statement): unknown {
  if (command === 'comment') return { command: 'comment', content, args: [{ key: 'next', value: true }], inlineComment: '' }
  const plain = args.map(({ key, value }) => ({ key, value }))
  return {
    command,
    commandRaw: head.trim(),
    content: command === 'choose' ? chosen(content) : content === 'none' ? '' : content,
    args: [
      ...(speaker === undefined ? [] : [{ key: 'speaker', value: speaker }]),
      ...(commands[command]?.next ? [{ key: 'next', value: true }] : []),
      ...plain,
    ],
    inlineComment: comment,
  }
}

const cut = (text: string, sign: string): string[] => text.split(new RegExp(String.raw`(?<!\\)${sign}`))
const chosen = (content: string): string =>
  content === '' || content === 'none'
    ? ''
    : cut(content, String.raw`\|`)
        .map((option) => `${cut(option, ':')[0] ?? ''}:${cut(option, ':')[1] ?? ''}`)
        .join('|')

function ours({ command, commandRaw, content, args, inlineComment }: Sentence): unknown {
  const name = nameOf.get(command) ?? 'comment'
  return name === 'comment'
    ? { command: name, content, args, inlineComment }
    : { command: name, commandRaw, content, args, inlineComment }
}

/** Line by line the same, for text without continued lines, which the other parser knows nothing of. */
function agree(text: string): void {
  const mine = text
    .split('\n')
    .map(
      (line) =>
        parseScene(line.replaceAll('\r', '').replace(/\\$/, '\\ '), { names, continues: true, opus: false })[0] as Statement,
    )
  const other = parser.parse(
    text
      .split('\n')
      .map((line) => line.replaceAll('\r', '').replace(/\\$/, '\\ '))
      .join('\n'),
    'scene',
    'scene',
  ).sentenceList
  expect(mine.map(theirs)).toEqual(other.map(ours))
}

test('every trap of the language is read as the engine reads it', () => {
  agree(
    [
      'changeBg:bg.png -next;',
      'changeBG:bg.png;',
      'changeBg :bg.png;',
      ' changeBg:bg.png;',
      'end ;',
      'end;',
      'end',
      'pixiInit -next;',
      '\uFEFFchangeBg:a.png;',
      '角色:a - b;',
      'setTransform:{"position": {"x": -50}};',
      'setTransform:{"position":{"x":-50}} -target=fig-left -duration=500;',
      'changeFigure:a.png -right-next;',
      'changeFigure:-right a.png;',
      '雪乃:海风真舒服呢 -v1.wav -volume=50;',
      '雪乃:声音 -vocal=v1.wav;',
      '雪乃:x -OGGx;',
      ':旁白;',
      'say:hello -speaker=me;',
      'choose:去:a.txt|留\\|下:label|(x>1)[y]->条件:b;',
      'setVar:a==1;',
      'setVar:a=1 -global;',
      'text with no colon',
      ';comment',
      '; a ; b',
      'x:y;inline;more',
      'a\\;b:c\\;d;e',
      '// no comment',
      '',
      '   ',
      '\t',
      'if:x;',
      'chooseLabel:x;',
      'wait:1000 -nobreak;',
      'intro:a|b -fontSize=large -hold=true;',
      'bgm:none;',
      'bgm:;',
      ':;',
      ':',
      ' -next',
      'x: -a= -b=0x10 -c=1e3 -d=true -e=false -f==;',
      'a:b -  -c;',
      'a\\:b:c;',
      'getUserInput:name -title=你叫什么 -buttonText=好;',
      'label:one;\r',
    ].join('\n'),
  )
})

test('the rest is read the same, whatever it is (10,000 lines)', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...names,
      ':',
      ';',
      '\\;',
      ' -',
      '-',
      '=',
      '|',
      '\\',
      ' ',
      'none',
      '->',
      '{x}',
      '.mp3',
      'true',
      '1',
      'next',
      '角色',
      '：',
      '；',
      '.txt',
      '\t',
    ),
    fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => text.replaceAll('\n', '')),
  )
  const line = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(fc.array(line, { minLength: 100, maxLength: 100 }), (lines) => agree(lines.join('\n'))),
    { numRuns: 100 },
  )
})

test('continued lines are put together, and lines keep their numbers', () => {
  const statements = parseScene(['choose:a:b', '  |c:d', '  -next;', 'x:y', ' -concat;', 'long \\', 'line;', 'end;'].join('\n'))
  expect(statements.map(({ line, endLine, command, content }) => ({ line, endLine, command, content }))).toEqual([
    { line: 1, endLine: 3, command: 'choose', content: 'a:b|c:d' },
    { line: 4, endLine: 4, command: 'say', content: 'y' },
    { line: 5, endLine: 5, command: 'say', content: '' },
    { line: 6, endLine: 7, command: 'say', content: 'long line' },
    { line: 8, endLine: 8, command: 'end', content: 'end' },
  ])
})

test('folding agrees with the other implementation of it', () => {
  const log = console.log
  console.log = () => undefined
  try {
    // No empty lines: a statement that begins with one is not trimmed there, which makes no difference to what is read.
    const line = fc.constantFrom('a:b', ' -next', '  |x', ' -concat', 'c\\', 'end;', '   -left=1', ' text')
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        // Where a text begins or ends in the middle of a statement, the other one loses it.
        const text = ['start', ...lines, 'end'].join('\n')
        const other = oracle
          .sceneTextPreProcess(text)
          .split('\n')
          .filter((one: string) => !one.startsWith(';_WEBGAL_LINE_BREAK_'))
        expect([...foldLines(text)].map((one) => one.text)).toEqual(other)
      }),
      { numRuns: 500 },
    )
  } finally {
    console.log = log
  }
})

test('options of choose', () => {
  expect(parseChoices('(a>1)[b]->走:x.txt|留:here|只有文字|a\\:b:c:d')).toMatchObject([
    { words: '走', target: 'x.txt', show: 'a>1', enable: 'b' },
    { words: '留', target: 'here', show: undefined, enable: undefined },
    { words: '只有文字', target: '', show: undefined, enable: undefined },
    { words: 'a\\:b', target: 'c', show: undefined, enable: undefined },
  ])
})

test('a line that was taken apart elsewhere is the same statement on its own line; one that goes on is taken apart anew', () => {
  const known = new Map(parseScene('bgm:a.mp3 -volume=5;\nA:hi').map((one) => [one.text, one]))
  const text = ':x;\nbgm:a.mp3 -volume=5;\nbgm:a.mp3 -volume=5;\n -next;\nA:hi'
  const asked: string[] = []
  const found = [...statementsOf(text, undefined, (line) => (asked.push(line), known.get(line)))]
  expect(found).toEqual(parseScene(text))
  expect(asked).toEqual([':x;', 'bgm:a.mp3 -volume=5;', 'A:hi'])
})
