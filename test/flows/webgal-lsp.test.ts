import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  CompletionRequest,
  DefinitionRequest,
  DidChangeWatchedFilesNotification,
  DocumentSymbolRequest,
  HoverRequest,
  PrepareRenameRequest,
  PublishDiagnosticsNotification,
  ReferencesRequest,
  RenameRequest,
  type CompletionItem,
  type Location,
  type PublishDiagnosticsParams,
} from 'vscode-languageserver-protocol/node'
import { asEditor, inEditor } from '../support/editor-client.ts'
import { draws } from '../support/seed.ts'
import { runInside } from '../support/inside.ts'
import { cleanEnv, openWorld, program } from '../support/world.ts'

const start = [
  'setVar:score=1;',
  'label:top;',
  '雪乃:😀你有{score}分。 -when=score>0;',
  'choose:(score>1)->海边:beach.txt|回去:top;',
  'changeFigure:yuki/a.png -left;',
  'jumpLabel:top;',
].join('\n')

const files = {
  'game/config.txt': 'Game_name:海;\n',
  'game/figure/yuki/a.png': '',
  'game/figure/yuki/b.png': '',
  'game/animation/animationTable.json': '["shake"]',
  'game/animation/shake.json': '[]',
  'game/scene/start.txt': start,
  'game/scene/beach.txt': 'setVar:score=score+1;\n雪乃:海！;\nend;\n',
}

const scene = 'game/scene/start.txt'

test('diagnostics follow what is typed, with columns in UTF-16, and files that come are seen', async () => {
  await using world = await openWorld({ files, flags: { lang: 'EN' } })
  await inEditor(world, async ({ open, change, connection, uri }) => {
    expect((await open(scene, start)).diagnostics).toEqual([])
    const typo = await change(scene, 2, { line: 4, from: 0, to: 12, text: 'changefigure' })
    expect(typo.diagnostics).toMatchObject([
      {
        severity: 1,
        code: 'miscased-command',
        source: 'handrail',
        range: { start: { line: 4, character: 0 }, end: { line: 4 } },
      },
    ])
    expect((await change(scene, 3, { line: 4, from: 0, to: 12, text: 'changeFigure' })).diagnostics).toEqual([])
    // An astral character is two columns wide.
    const wide = await change(scene, 4, { line: 2, from: 0, to: 0, text: '  😀:{nobody};\n' })
    expect(wide.diagnostics.map(({ code, range }) => [code, range.start, range.end.character])).toContainEqual([
      'variable-never-set',
      { line: 2, character: 2 },
      14,
    ])
    const lost = await change(scene, 5, { line: 2, from: 0, to: 14, text: 'changeBg:new.png;' })
    expect(lost.diagnostics.map(({ code }) => code)).toEqual(['missing-file'])
    world.write('game/background/new.png', '')
    const again = new Promise<PublishDiagnosticsParams>((resolve) =>
      connection.onNotification(PublishDiagnosticsNotification.type, resolve),
    )
    await connection.sendNotification(DidChangeWatchedFilesNotification.type, {
      changes: [{ uri: uri('game/background/new.png'), type: 1 }],
    })
    expect((await again).diagnostics).toEqual([])
  })
})

test('what is remembered between keystrokes changes no answer', async () => {
  await using world = await openWorld({ files, flags: { lang: 'EN' } })
  const next = draws('keystrokes')
  const pool = [
    'label:a;',
    'label:b;',
    'jumpLabel:a;',
    'choose:x:a|y:b;',
    'changeBG:x.png;',
    ':{nobody};',
    ':plain',
    'Yuki:hello;',
    'setVar:nobody=1;',
    'end;',
    'wait:1 -nobreak;',
    'changeFigure:yuki/a.png',
    '  -left',
    '  |more',
    '雪乃：你好',
    'intro:a\\\\',
    ';comment',
    '',
  ]
  const editor = await world.runtime.scriptEditor()
  const lines = Array.from({ length: 10 }, () => pool[next(pool.length)] ?? '')
  const found: unknown[] = []
  const wanted: unknown[] = []
  for (let round = 0; round < 120; round++) {
    lines.splice(next(lines.length), next(3), ...Array.from({ length: next(3) }, () => pool[next(pool.length)] ?? ''))
    for (const [one, answers] of [
      [editor, found],
      [await world.runtime.scriptEditor(), wanted],
    ] as const) {
      one.hold(scene, lines.join('\n'))
      answers.push({ text: lines.join('\n'), said: await one.diagnostics(scene, new AbortController().signal) })
    }
  }
  expect(found).toEqual(wanted)
})

test('hover, completion, definitions, references and the outline', async () => {
  await using world = await openWorld({ files, flags: { lang: 'EN' } })
  await inEditor(world, async ({ open, change, connection, at, uri }) => {
    await open(scene, start)
    const hover = await connection.sendRequest(HoverRequest.type, at(scene, 4, 3))
    expect(hover).toMatchObject({ contents: { value: expect.stringContaining('Change a figure') as string } })
    expect(await connection.sendRequest(HoverRequest.type, at(scene, 4, 28))).toMatchObject({
      contents: { value: expect.stringContaining('-left') as string },
    })
    // `score` in `{score}` after an astral character.
    expect(await connection.sendRequest(HoverRequest.type, at(scene, 2, 10))).toMatchObject({
      contents: { value: expect.stringContaining('set in 2 places, used in 4') as string },
      range: { start: { character: 8 }, end: { character: 13 } },
    })

    let version = 1
    const completed = async (typed: string): Promise<string[]> => {
      await change(scene, ++version, { line: 5, from: 0, to: 200, text: typed })
      const items = (await connection.sendRequest(CompletionRequest.type, at(scene, 5, typed.length))) as CompletionItem[]
      return items.map(({ textEdit }) => textEdit?.newText ?? '')
    }
    expect(await completed('chan')).toEqual(expect.arrayContaining(['changeBg:', 'changeFigure:', '雪乃:']))
    expect(await completed('changeFigure:')).toEqual(['yuki/a.png', 'yuki/b.png', 'none'])
    expect(await completed('changeFigure:yuki/a.png -')).toEqual(expect.arrayContaining(['left', 'id=', 'next', 'when=']))
    expect(await completed('changeFigure:yuki/a.png -ease=')).toContain('easeInOut')
    expect(await completed('setAnimation:')).toEqual(['shake'])
    expect(await completed('setAnimation:shake -target=')).toEqual(expect.arrayContaining(['bg-main', 'fig-left']))
    expect(await completed('jumpLabel:')).toEqual(['top'])
    expect(await completed('choose:go:')).toEqual(['top', 'beach.txt', 'start.txt'])
    expect(await completed('choose:(')).toContain('score')
    expect(await completed(':You have {')).toContain('score')
    expect(await completed(':x; a comment chan')).toEqual([])
    expect(await completed('changeScene:bea')).toContain('beach.txt')
    await change(scene, ++version, { line: 5, from: 0, to: 200, text: 'jumpLabel:top;' })

    const definition = async (line: number, character: number): Promise<Location[]> =>
      (await connection.sendRequest(DefinitionRequest.type, at(scene, line, character))) as Location[]
    expect(await definition(5, 11)).toMatchObject([{ uri: uri(scene), range: { start: { line: 1, character: 6 } } }])
    expect(await definition(3, 23)).toMatchObject([{ uri: uri('game/scene/beach.txt') }])
    expect((await definition(2, 10)).map((one) => one.uri).toSorted()).toEqual([uri('game/scene/beach.txt'), uri(scene)])
    expect(await definition(4, 15)).toMatchObject([{ uri: uri('game/figure/yuki/a.png') }])
    expect(await definition(0, 0)).toEqual([])
    const references = await connection.sendRequest(ReferencesRequest.type, {
      ...at(scene, 1, 7),
      context: { includeDeclaration: true },
    })
    expect(references?.map(({ range }) => range.start.line)).toEqual([1, 3, 5])

    const symbols = await connection.sendRequest(DocumentSymbolRequest.type, { textDocument: { uri: uri(scene) } })
    expect(symbols).toMatchObject([
      { name: 'score=1' },
      {
        name: 'top',
        range: { start: { line: 1 }, end: { line: 5 } },
        children: [{ name: expect.stringContaining('海边') as string }],
      },
    ])
    expect(await connection.sendRequest(HoverRequest.type, at('README.md', 0, 0))).toBe(null)
  })
})

test('a rename reaches every scene, unsaved ones as they are in the editor; what cannot be is refused in words', async () => {
  await using world = await openWorld({ files, flags: { lang: 'EN' } })
  await inEditor(world, async ({ open, connection, at, uri }) => {
    await open(scene, `:{score};\n${start}`)
    expect(await connection.sendRequest(PrepareRenameRequest.type, at(scene, 1, 8))).toMatchObject({ placeholder: 'score' })
    expect(await connection.sendRequest(PrepareRenameRequest.type, at(scene, 5, 3))).toBe(null)
    const rename = (line: number, character: number, newName: string): Promise<unknown> =>
      connection.sendRequest(RenameRequest.type, { ...at(scene, line, character), newName })
    const edit = (await rename(1, 8, 'points')) as { changes: Record<string, { range: { start: object }; newText: string }[]> }
    expect(Object.keys(edit.changes).toSorted()).toEqual([uri('game/scene/beach.txt'), uri(scene)])
    expect(new Set(edit.changes[uri(scene)]?.map(({ range: { start: from } }) => JSON.stringify(from)))).toEqual(
      new Set(
        [
          [0, 2],
          [1, 7],
          [3, 8],
          [3, 23],
          [4, 8],
        ].map(([line, character]) => JSON.stringify({ line, character })),
      ),
    )
    await expect(rename(1, 8, 'Game_name')).rejects.toThrow(/config\.txt/)
    await expect(rename(1, 8, 'a b')).rejects.toThrow(/No variable can have the name/)
    await expect(rename(2, 7, 'a.txt')).rejects.toThrow(/No label can have the name/)
    await expect(rename(2, 7, 'end')).resolves.toMatchObject({ changes: { [uri(scene)]: [{}, {}, {}] } })
  })
})

test('the program itself serves an editor over stdio, and renames from the terminal through the kernel, which can be undone', async () => {
  await using world = await openWorld({ files })
  const child = spawn(process.execPath, [program, 'webgal', 'lsp', '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: cleanEnv(join(world.project, '..'), { HANDRAIL_LANG: 'EN' }),
  })
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await asEditor(world.project, { read: child.stdout, write: child.stdin }, async ({ open }) => {
    expect((await open(scene, 'changeBG:x.png;')).diagnostics.map(({ code }) => code)).toEqual(['miscased-command'])
  })
  expect(await gone).toBe(0)

  const rename = (...words: string[]): ReturnType<typeof runInside> =>
    runInside(world.project, ['webgal', 'rename', ...words], { env: { HANDRAIL_LANG: 'EN' } })
  expect((await rename('score', 'points', '--dry-run')).out).toContain('6 places in 2 scenes would change')
  expect((await rename('score', 'points')).out).toContain('6 places in 2 scenes')
  const beach = join(world.project, 'game/scene/beach.txt')
  expect(readFileSync(beach, 'utf8')).toBe('setVar:points=points+1;\n雪乃:海！;\nend;\n')
  expect(readFileSync(join(world.project, scene), 'utf8')).toBe(start.replaceAll('score', 'points'))
  expect((await rename('top', 'begin', '--scene', 'start')).out).toContain('3 places in 1 scenes')
  expect((await rename('nobody', 'x')).code).not.toBe(0)
  expect((await runInside(world.project, ['undo', '--last', '--yes'])).code).toBe(0)
  expect((await runInside(world.project, ['undo', '--last', '--yes'])).code).toBe(0)
  expect(readFileSync(beach, 'utf8')).toBe(files['game/scene/beach.txt'])
  expect(readFileSync(join(world.project, scene), 'utf8')).toBe(start)
})
