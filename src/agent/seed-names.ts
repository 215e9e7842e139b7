import type { DialectRow } from '../contracts/dialect.ts'

/** Seed 004 counts paths from `sandbox/` on, and writes them with that prefix too: both mean the same file. */
const inSandbox = (path: unknown): string => `sandbox/${String(path ?? '').replace(/^(?:\.\/)?(?:sandbox\/)+/, '')}`

/** The tools as seed 004 names them in plans: rows of a dialect, no tools of their own. */
export const seedTools: Readonly<Record<string, DialectRow>> = {
  'local.file.write': {
    tool: 'write_to_file',
    input: ({ path, content }) => ({ path: inSandbox(path), content, dryRun: false }),
  },
  'local.file.read': { tool: 'read_file', input: ({ path }) => ({ path: inSandbox(path) }) },
  'local.file.list': { tool: 'list_files', input: ({ path }) => ({ path: path === undefined ? 'sandbox' : inSandbox(path) }) },
  'local.python_run': { tool: 'python_run' },
  'local.python.run': { tool: 'python_run' },
  'local.shell': { tool: 'execute_command' },
}

/** A call as the kernel knows it, whichever of its names it was written with. */
export function kernelCall(tool: string, params: Record<string, unknown>): { tool: string; input: Record<string, unknown> } {
  const row = Object.hasOwn(seedTools, tool) ? seedTools[tool] : undefined
  if (!row) return { tool, input: params }
  return { tool: row.tool, input: { ...(row.input?.(params) ?? params) } }
}
