import type { Definition } from '../../contracts/mounts.ts'
import type { Risk } from '../../contracts/tool.ts'
import { toolsUsing } from '../../contracts/tool.ts'
import type { MountAnswer } from '../../host/mcp/connection.ts'
import type { SchemaChecks } from '../../host/schema-checks.ts'

/** One mounted server, as its tools reach it. */
export interface MountUse {
  server: string
  /** What it can reach, in words for a card. */
  reaches: readonly string[]
  /** What the person takes its tools for. */
  risks: Readonly<Record<string, Risk>>
  problems: (...given: Parameters<SchemaChecks['problems']>) => ReturnType<SchemaChecks['problems']>
  /** Makes the call, where the server still defines the tool as it was accepted. */
  call(
    definition: Definition,
    input: Record<string, unknown>,
    how: { signal: AbortSignal; onProgress: (done: number, total: number | undefined, says: string | undefined) => void },
  ): Promise<MountAnswer>
}

export const defineTool = toolsUsing<MountUse>('mounts')
