/** The libraries of the Language Server Protocol, loaded by `handrail webgal lsp` alone. */
export { createProtocolConnection, StreamMessageReader, StreamMessageWriter } from 'vscode-languageserver-protocol/node'
export {
  CompletionItemKind,
  createConnection,
  DiagnosticSeverity,
  DidChangeWatchedFilesNotification,
  ErrorCodes,
  InsertTextFormat,
  ResponseError,
  SymbolKind,
  TextDocuments,
  TextDocumentSyncKind,
  type CompletionItem,
  type Diagnostic,
  type DocumentSymbol,
  type InitializeParams,
  type Location,
} from 'vscode-languageserver'
export { TextDocument } from 'vscode-languageserver-textdocument'
