import { terminalJson } from '../../../text/terminal-json.ts'
import { fromHere } from './places.ts'
import type { Diagnostic, Told } from './report.ts'

/** What other programs read. */
export const formats: Readonly<Record<string, (told: readonly Told[], version: string) => string>> = {
  json: (told) => {
    const games = told.map(({ report, shown, failed, project }) => ({ project, ...report, diagnostics: shown, failed }))
    const [one] = games
    return terminalJson(games.length === 1 && one ? one : { failed: told.some(({ failed }) => failed), games })
  },
  github: (told) =>
    each(told)
      .map(({ file, line, column, code, message, fixHint, severity }) => {
        const kind = { error: 'error', warning: 'warning', info: 'notice' }[severity]
        const where = [
          `file=${property(file)}`,
          `line=${line}`,
          ...(column === undefined ? [] : [`col=${column}`]),
          `title=${property(code)}`,
        ]
        return `::${kind} ${where.join(',')}::${data(fixHint === undefined ? message : `${message} → ${fixHint}`)}`
      })
      .join('\n'),
  sarif: (told, version) => JSON.stringify(sarif(each(told), version), null, 2),
}

type Located = Diagnostic & { file: string }

function each(told: readonly Told[]): Located[] {
  return told.flatMap(({ project, shown }) => shown.map((one) => ({ ...one, file: fromHere(project, one.path) })))
}

const data = (text: string): string => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C')

/** The Static Analysis Results Interchange Format, as code hosts and editors take it in. */
function sarif(found: readonly Located[], version: string): object {
  const codes = [...new Set(found.map(({ code }) => code))].toSorted()
  const levels = { error: 'error', warning: 'warning', info: 'note' } as const
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'handrail webgal', version, rules: codes.map((id) => ({ id })) } },
        columnKind: 'utf16CodeUnits',
        results: found.map(({ file, line, column, endColumn, code, message, fixHint, severity }) => ({
          ruleId: code,
          ruleIndex: codes.indexOf(code),
          level: levels[severity],
          message: { text: fixHint === undefined ? message : `${message} → ${fixHint}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: file.split('/').map(encodeURIComponent).join('/') },
                region: {
                  startLine: line,
                  ...(column !== undefined && { startColumn: column }),
                  ...(endColumn !== undefined && { endColumn }),
                },
              },
            },
          ],
        })),
      },
    ],
  }
}
