import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import {
  CancellationTokenSource,
  DidChangeTextDocumentNotification,
  LogMessageNotification,
  PublishDiagnosticsNotification,
} from 'vscode-languageserver-protocol/node'
import { inEditor, type Editor } from '../support/editor-client.ts'
import { openWorld } from '../support/world.ts'

const scene = 'game/scene/start.txt'
const start =
  'setVar:a=1;\nlabel:l;\nlabel:m;\nchangeScene:../../../outside/game/scene/secret.txt;\nchangeScene:link.txt;\nchangeBg:../../../outside/game/config.txt;\njumpLabel:l;\n'
const files = { 'game/config.txt': 'Game_name:x;\n', [scene]: start }
const secret = 'setVar:topsecret=1;\nlabel:hush;\n'
const asked = ['hover', 'completion', 'definition', 'references', 'prepareRename'].map((one) => `textDocument/${one}`)
const invalid = -32602

const send = (editor: Editor, method: string, params: object): Promise<unknown> =>
  editor.connection.sendRequest<unknown>(method, params).catch((fault: { code: number }) => fault.code)

test('L01 a place that is none is refused in words; one past the end has nothing', async () => {
  await using world = await openWorld({ files })
  await inEditor(world, async (editor) => {
    await editor.open(scene, start)
    const textDocument = { uri: editor.uri(scene) }
    for (const method of asked) {
      for (const position of [{ line: -1, character: 0 }, { line: 0.5, character: 0 }, { line: '0', character: {} }, {}, null])
        expect(await send(editor, method, { textDocument, position })).toBe(invalid)
      for (const position of [
        { line: 1e9, character: 0 },
        { line: 0, character: 2 ** 40 },
      ])
        expect([null, []]).toContainEqual(await send(editor, method, { textDocument, position }))
    }
    for (const uri of [null, 42, {}])
      expect(await send(editor, 'textDocument/documentSymbol', { textDocument: { uri } })).toBe(invalid)
    const position = { line: 0, character: 7 }
    for (const newName of [null, { a: 1 }])
      expect(await send(editor, 'textDocument/rename', { textDocument, position, newName })).toBe(invalid)
    // Two labels would become one.
    expect(await send(editor, 'textDocument/rename', { textDocument, position: { line: 1, character: 6 }, newName: 'm' })).toBe(
      -32600,
    )
    expect(await send(editor, 'workspace/executeCommand', { command: 'rm' })).toBe(-32601)
  })
})

test('L02 nothing outside of the open folder is read, by any spelling or link, and nothing is written', async () => {
  await using world = await openWorld({ files: { ...files, 'game/scene/bad.txt': Buffer.from([0xff, 0xfe, 0]) }, onDisk: true })
  const outside = join(world.project, '..', 'outside')
  mkdirSync(join(outside, 'game/scene'), { recursive: true })
  writeFileSync(join(outside, 'game/scene/secret.txt'), secret)
  symlinkSync(join(outside, 'game/scene/secret.txt'), join(world.project, 'game/scene/link.txt'))
  symlinkSync(outside, join(world.project, 'game/scene/dirlink'))
  symlinkSync('..', join(world.project, 'game/scene/round'))
  mkdirSync(join(world.project, 'game/scene/folder.txt'))
  execFileSync('mkfifo', [join(world.project, 'game/scene/pipe.txt')])
  const state = (): string[] =>
    readdirSync(world.project, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.includes('link') && !path.includes('round'))
      .map((path) => `${path} ${statSync(join(world.project, path)).mtimeMs}`)
  const before = state()
  const opened = new Set<string>()
  const said: string[] = []
  await inEditor(
    world,
    async (editor) => {
      await editor.open(scene, start)
      const scenes = editor.uri('game/scene')
      for (const uri of [
        pathToFileURL(join(outside, 'game/scene/secret.txt')).href,
        `${scenes}/../../../outside/game/scene/secret.txt`,
        `${scenes}/%2e%2e/%2e%2e/%2e%2e/outside/game/scene/secret.txt`,
        `${scenes}/..%2f..%2f..%2foutside/game/scene/secret.txt`,
        ...['link', 'dirlink/game/scene/secret', 'round/round/scene/link', 'pipe', 'folder', 'bad'].map(
          (name) => `${scenes}/${name}.txt`,
        ),
        'file:///etc/scene/passwd.txt',
        'file://elsewhere.example/share/scene/x.txt',
        'untitled:Untitled-1',
        'file:///%00/scene/x.txt',
        `file:///${'a/'.repeat(20_000)}scene/x.txt`,
      ]) {
        said.push(JSON.stringify(await send(editor, 'textDocument/documentSymbol', { textDocument: { uri } })))
        for (const method of asked)
          said.push(JSON.stringify(await send(editor, method, { textDocument: { uri }, position: { line: 0, character: 8 } })))
      }
      for (const line of [3, 4, 5]) {
        const at = { ...editor.at(scene, line, 20), context: { includeDeclaration: true } }
        for (const method of asked) said.push(JSON.stringify(await send(editor, method, at)))
      }
      // A scene that cannot be read may name it too.
      expect(await send(editor, 'textDocument/rename', { ...editor.at(scene, 0, 7), newName: 'b' })).toBe(-32600)
    },
    (folder) => opened.add(folder),
  )
  expect(said.join('\n')).not.toMatch(/topsecret|hush|root:/)
  expect([...opened]).toEqual([world.project])
  expect(state()).toEqual(before)
})

test('L03 changes that make no sense, a burst of changes and requests that are cancelled leave a server that answers', async () => {
  await using world = await openWorld({ files })
  await inEditor(world, async (editor) => {
    const { connection, uri } = editor
    await editor.open(scene, start)
    connection.onNotification(LogMessageNotification.type, () => undefined)
    const change = (version: number, contentChanges: unknown, path = scene): Promise<void> =>
      connection.sendNotification(DidChangeTextDocumentNotification.method, {
        textDocument: { uri: uri(path), version },
        contentChanges,
      })
    const at = (line: unknown, character: unknown): object => ({ line, character })
    await change(5, [{ range: { start: at(0, 0), end: at(0, 0) }, text: 'x' }], 'game/scene/never.txt')
    await change(9, [{ range: { start: at(5, 9), end: at(0, 0) }, text: 'q' }])
    await change(3, [{ range: { start: at(99_999, 9), end: at(-4, 1e9) }, text: 'z' }])
    for (const odd of [null, [], [{ text: null }], [{ range: null, text: 'x' }], [{ range: { start: at('x', 0) }, text: 'd' }]])
      await change(4, odd)
    let answers = 0
    const last = new Promise<void>((done) =>
      connection.onNotification(PublishDiagnosticsNotification.type, ({ version }) => {
        answers++
        if (version === 2_010) done()
      }),
    )
    await change(10, [{ text: start }])
    for (let version = 11; version <= 2_010; version++)
      void change(version, [{ range: { start: at(0, 0), end: at(0, 0) }, text: 'y' }])
    await last
    // Not one for each.
    expect(answers).toBeLessThan(1_000)
    await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => {
        const source = new CancellationTokenSource()
        const sent = connection.sendRequest('textDocument/hover', editor.at(scene, 1, 7), source.token)
        if (index % 2 === 0) source.cancel()
        return sent
      }),
    )
    await change(2_011, [{ text: start }])
    expect(await send(editor, 'textDocument/documentSymbol', { textDocument: { uri: uri(scene) } })).toMatchObject([
      { name: 'a=1' },
      { name: 'l' },
      { name: 'm' },
    ])
  })
})
