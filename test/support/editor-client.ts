import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import {
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  RegistrationRequest,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
} from 'vscode-languageserver-protocol/node'
import { serveLsp } from '../../src/surfaces/lsp/lsp.ts'
import type { World } from './world.ts'

export interface Editor {
  connection: ProtocolConnection
  uri(path: string): string
  open(path: string, text: string): Promise<PublishDiagnosticsParams>
  change(
    path: string,
    version: number,
    changes: { line: number; from: number; to: number; text: string },
  ): Promise<PublishDiagnosticsParams>
  at(
    path: string,
    line: number,
    character: number,
  ): { textDocument: { uri: string }; position: { line: number; character: number } }
}

/** An editor's own side of the protocol. */
export async function asEditor(
  project: string,
  streams: { read: NodeJS.ReadableStream; write: NodeJS.WritableStream },
  act: (editor: Editor) => Promise<void>,
): Promise<void> {
  const connection = createProtocolConnection(new StreamMessageReader(streams.read), new StreamMessageWriter(streams.write))
  const uri = (path: string): string => pathToFileURL(join(project, path)).href
  const waiting = new Map<string, (found: PublishDiagnosticsParams) => void>()
  connection.onNotification(PublishDiagnosticsNotification.type, (found) => waiting.get(`${found.uri} ${found.version}`)?.(found))
  connection.onRequest(RegistrationRequest.type, () => undefined)
  const told = (path: string, version: number): Promise<PublishDiagnosticsParams> =>
    new Promise((resolve) => waiting.set(`${uri(path)} ${version}`, resolve))
  connection.listen()
  const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(project).href,
    capabilities: { workspace: { didChangeWatchedFiles: { dynamicRegistration: true } } },
    workspaceFolders: [{ uri: pathToFileURL(project).href, name: 'game' }],
  })
  expect(capabilities).toMatchObject({ positionEncoding: 'utf-16', renameProvider: { prepareProvider: true } })
  await connection.sendNotification(InitializedNotification.type, {})
  try {
    await act({
      connection,
      uri,
      async open(path, text) {
        const seen = told(path, 1)
        const textDocument = { uri: uri(path), languageId: 'webgal', version: 1, text }
        await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument })
        return seen
      },
      async change(path, version, { line, from, to, text }) {
        const seen = told(path, version)
        await connection.sendNotification(DidChangeTextDocumentNotification.type, {
          textDocument: { uri: uri(path), version },
          contentChanges: [{ range: { start: { line, character: from }, end: { line, character: to } }, text }],
        })
        return seen
      },
      at: (path, line, character) => ({ textDocument: { uri: uri(path) }, position: { line, character } }),
    })
  } finally {
    await connection.sendRequest(ShutdownRequest.type)
    await connection.sendNotification(ExitNotification.type)
    connection.dispose()
  }
}

/** The server inside the test process, and an editor that speaks to it. */
export async function inEditor(
  world: World,
  act: (editor: Editor) => Promise<void>,
  opened: (folder: string) => void = () => undefined,
): Promise<void> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const open = (folder: string): ReturnType<World['runtime']['scriptEditor']> => {
    opened(folder)
    return world.runtime.scriptEditor()
  }
  const served = serveLsp({ version: '0', input, output, open })
  await asEditor(world.project, { read: output, write: input }, act)
  expect(await served).toBe(0)
}
