import type { Operator } from '../contracts/operator.ts'
import { serveLsp } from '../surfaces/lsp/lsp.ts'
import { version } from '../version.ts'

/** The language server of WebGAL scripts: every project that the editor has open is opened when one of its scripts is. */
export async function serveLspFor(
  open: (project: string) => Operator,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stdout,
): Promise<number> {
  const opened: Operator[] = []
  try {
    return await serveLsp({
      version,
      input,
      output,
      async open(folder) {
        const operator = open(folder)
        opened.push(operator)
        return operator.scriptEditor()
      },
    })
  } finally {
    await Promise.all(opened.map((one) => one.close()))
  }
}
