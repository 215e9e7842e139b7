import { setImmediate as nextTurn } from 'node:timers/promises'
import { Fault } from '../../contracts/faults/fault.ts'
import type {
  ScriptCompletion,
  ScriptDiagnostic,
  ScriptEditor,
  ScriptLocation,
  ScriptPosition,
  ScriptSymbol,
} from '../../contracts/script-editor.ts'
import { openProjects, type Script } from './projects.ts'
import {
  CompletionItemKind,
  createConnection,
  createProtocolConnection,
  DiagnosticSeverity,
  DidChangeWatchedFilesNotification,
  ErrorCodes,
  InsertTextFormat,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  SymbolKind,
  TextDocument,
  TextDocuments,
  TextDocumentSyncKind,
  type CompletionItem,
  type Diagnostic,
  type DocumentSymbol,
  type InitializeParams,
  type Location,
} from './sdk.ts'
import { fileOf } from './projects.ts'

/** What the server is handed: where it reads and writes, and how a project is opened. */
export interface LspParts {
  version: string
  input: NodeJS.ReadableStream
  output: NodeJS.WritableStream
  open(folder: string): Promise<ScriptEditor>
}

const burstMs = 200

/** Serves one editor; resolves to the exit code once it is gone. */
export function serveLsp({ version, input, output, open }: LspParts): Promise<number> {
  return new Promise((resolve) => {
    const watchDog = { shutdownReceived: false, initialize: () => undefined, exit: (code: number) => end(code) }
    const connection = createConnection(
      (logger) => createProtocolConnection(new StreamMessageReader(input), new StreamMessageWriter(output), logger),
      watchDog,
    )
    const documents = new TextDocuments(TextDocument)
    const projects = openProjects(open)
    const checking = new Map<string, AbortController>()
    let watches = false
    let ended = false
    const end = (code: number): void => {
      if (ended) return
      ended = true
      for (const one of checking.values()) one.abort()
      connection.dispose()
      resolve(code)
    }
    input.on('end', () => end(watchDog.shutdownReceived ? 0 : 1))
    input.on('close', () => end(watchDog.shutdownReceived ? 0 : 1))

    connection.onInitialize((params: InitializeParams) => {
      const folders = params.workspaceFolders?.map(({ uri }) => uri) ?? [params.rootUri ?? '']
      projects.folders = folders.flatMap((uri) => fileOf(uri) ?? [])
      watches = params.capabilities.workspace?.didChangeWatchedFiles?.dynamicRegistration === true
      return {
        serverInfo: { name: 'handrail-webgal', version },
        capabilities: {
          positionEncoding: 'utf-16',
          textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental, save: true },
          hoverProvider: true,
          completionProvider: { triggerCharacters: [':', '-', '=', '|', '{', '/', '('] },
          definitionProvider: true,
          referencesProvider: true,
          renameProvider: { prepareProvider: true },
          documentSymbolProvider: true,
          workspace: { workspaceFolders: { supported: true, changeNotifications: false } },
        },
      }
    })
    connection.onInitialized(() => {
      if (!watches) return
      const watchers = [{ globPattern: '**/game/**' }, { globPattern: '**/scene/**' }]
      void connection.client.register(DidChangeWatchedFilesNotification.type, { watchers }).catch(() => undefined)
    })

    /** The newest state of a document is checked; what is under way for an older one ends. */
    const check = async (document: TextDocument): Promise<void> => {
      const { uri, version: of } = document
      checking.get(uri)?.abort()
      const mine = new AbortController()
      checking.set(uri, mine)
      try {
        const script = await projects.scriptAt(uri)
        if (!script || mine.signal.aborted) return
        const found = await script.project.editor.diagnostics(script.path, mine.signal)
        if (mine.signal.aborted || documents.get(uri)?.version !== of) return
        await connection.sendDiagnostics({ uri, version: of, diagnostics: found.map(toDiagnostic) })
      } catch (fault) {
        if (!mine.signal.aborted && !ended) connection.console.warn(fault instanceof Error ? fault.message : String(fault))
      } finally {
        if (checking.get(uri) === mine) checking.delete(uri)
      }
    }
    const again = async (): Promise<void> => {
      for (const { editor } of await projects.all()) editor.changed()
      for (const document of documents.all()) await check(document)
    }
    const held = async (document: TextDocument, text: string | undefined): Promise<void> => {
      const script = await projects.scriptAt(document.uri)
      script?.project.editor.hold(script.path, text)
    }
    /** What comes in a burst is checked once it is over, and in between so often that a person sees it move. */
    const changing = new Set<string>()
    const settled = async ({ uri }: TextDocument): Promise<void> => {
      if (changing.has(uri)) return
      changing.add(uri)
      const since = performance.now()
      let before: number | undefined
      let now = documents.get(uri)?.version
      // Messages come one by one, each in a turn of its own.
      while (before !== now && performance.now() - since < burstMs) {
        before = now
        await nextTurn()
        await nextTurn()
        now = documents.get(uri)?.version
      }
      changing.delete(uri)
      const document = documents.get(uri)
      if (!document || ended) return
      await held(document, document.getText())
      await check(document)
    }
    documents.onDidChangeContent(({ document }) => void settled(document))
    documents.onDidSave(() => void again())
    documents.onDidClose(({ document }) => {
      checking.get(document.uri)?.abort()
      void held(document, undefined)
      void connection.sendDiagnostics({ uri: document.uri, diagnostics: [] }).catch(() => undefined)
    })
    connection.onDidChangeWatchedFiles(() => void again())

    /** Asks about a script; what is none has no answer, and a fault is told in words. */
    const ask = async <T>(
      params: { textDocument: { uri: string }; position?: ScriptPosition; newName?: string },
      otherwise: T,
      about: (script: Script) => Promise<T>,
    ): Promise<T> => {
      const uri = uriIn(params)
      const document = documents.get(uri)
      // It was opened a moment ago, and nobody waited for that.
      if (document) await held(document, document.getText())
      const script = await projects.scriptAt(uri)
      if (!script) return otherwise
      try {
        return await about(script)
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault
        const hint = typeof fault.hint === 'string' ? ` ${fault.hint}` : ''
        throw new ResponseError(ErrorCodes.InvalidRequest, fault.message + hint)
      }
    }
    const toLocations = ({ project }: Script, found: readonly ScriptLocation[]): Location[] =>
      found.map(({ path, range }) => ({ uri: projects.uriOf(project, path), range }))
    connection.onHover((params) =>
      ask(params, null, async ({ project, path }) => {
        const found = await project.editor.hover(path, params.position)
        return found ? { contents: { kind: 'markdown' as const, value: found.text }, range: found.range } : null
      }),
    )
    connection.onCompletion((params) =>
      ask(params, [] as CompletionItem[], async ({ project, path }) =>
        (await project.editor.complete(path, params.position)).map(toItem),
      ),
    )
    connection.onDefinition((params) =>
      ask(params, [] as Location[], async (script) =>
        toLocations(script, await script.project.editor.definition(script.path, params.position)),
      ),
    )
    connection.onReferences((params) =>
      ask(params, [] as Location[], async (script) =>
        toLocations(script, await script.project.editor.references(script.path, params.position)),
      ),
    )
    connection.onPrepareRename((params) =>
      ask(params, null, async ({ project, path }) => {
        const found = await project.editor.renamed(path, params.position)
        return found ? { range: found.range, placeholder: found.name } : null
      }),
    )
    connection.onRenameRequest((params) =>
      ask(params, null, async ({ project, path }) => {
        const changed = await project.editor.rename(path, params.position, params.newName)
        return {
          changes: Object.fromEntries(
            changed.map((one) => [
              projects.uriOf(project, one.path),
              one.edits.map(({ range, text }) => ({ range, newText: text })),
            ]),
          ),
        }
      }),
    )
    connection.onDocumentSymbol((params) =>
      ask(params, [] as DocumentSymbol[], async ({ project, path }) => (await project.editor.symbols(path)).map(toSymbol)),
    )
    documents.listen(connection)
    connection.listen()
  })
}

/** A request says where it asks, and that is a place: whole numbers that are not negative. */
function uriIn(params: { textDocument: { uri: string }; position?: ScriptPosition; newName?: string }): string {
  const { textDocument, position, newName } = (params ?? {}) as Partial<Record<string, unknown>>
  const uri = (textDocument as { uri?: unknown } | undefined)?.uri
  const { line, character } = (position ?? {}) as { line?: unknown; character?: unknown }
  const isPlace = [line, character].every((one) => Number.isInteger(one) && (one as number) >= 0)
  if (typeof uri === 'string' && (isPlace || !('position' in params)) && (typeof newName === 'string' || !('newName' in params)))
    return uri
  throw new ResponseError(ErrorCodes.InvalidParams, 'A document, a line and a character are wanted, as the protocol has them.')
}

const severities = {
  error: DiagnosticSeverity.Error,
  warning: DiagnosticSeverity.Warning,
  info: DiagnosticSeverity.Information,
} as const

const toDiagnostic = ({ range, severity, code, message }: ScriptDiagnostic): Diagnostic => ({
  range,
  message,
  code,
  severity: code === 'missing-semicolon' ? DiagnosticSeverity.Hint : severities[severity],
  source: 'handrail',
})

const itemKinds = {
  command: CompletionItemKind.Keyword,
  argument: CompletionItemKind.Property,
  file: CompletionItemKind.File,
  scene: CompletionItemKind.File,
  label: CompletionItemKind.Reference,
  variable: CompletionItemKind.Variable,
  speaker: CompletionItemKind.Text,
  value: CompletionItemKind.Value,
} as const

const toItem = ({ label, kind, detail, documentation, insert, range }: ScriptCompletion): CompletionItem => ({
  label,
  kind: itemKinds[kind],
  insertTextFormat: InsertTextFormat.PlainText,
  // What an editor compares with what was typed: an argument is typed without its hyphen.
  filterText: insert,
  textEdit: { range, newText: insert },
  ...(detail !== undefined && { detail }),
  ...(documentation !== undefined && { documentation }),
})

const symbolKinds = {
  label: SymbolKind.Namespace,
  choice: SymbolKind.Enum,
  scene: SymbolKind.File,
  variable: SymbolKind.Variable,
} as const

const toSymbol = ({ name, kind, range, children }: ScriptSymbol): DocumentSymbol => ({
  name,
  kind: symbolKinds[kind],
  range,
  selectionRange: { start: range.start, end: range.start },
  ...(children && { children: children.map(toSymbol) }),
})
