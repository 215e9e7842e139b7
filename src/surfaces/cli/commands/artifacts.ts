import { once } from 'node:events'
import { wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { isTextType, runBounds, type RunsApi } from '../../../contracts/run.ts'
import type { Command } from '../command.ts'
import { ago, printableBlock, say, size, table } from '../print.ts'
import { runCommands } from './run.ts'

export const artifacts: Command = {
  name: 'artifacts',
  insteadOf: runCommands,
  summary: 'List what runs left, or print one of it',
  usage: 'handrail artifacts list [RUN]|get ID --project DIR',
  acts: { list: 1, get: 1 },
  about: `The result of every run that succeeded is an artifact, kept for a day (limits.artifactTtlMs). \`get\` writes it to stdout as it is; on a
terminal, signs that would control it are shown as text.`,
  examples: [
    'handrail artifacts list --project .',
    'handrail artifacts get art_1f2e3d4c5b6a79881f2e3d4c5b6a7988 --project . > report.json',
  ],
  onlyReads: true,
  async run({ words, json, open }) {
    const [what = 'list', id] = words
    if (what !== 'list' && (what !== 'get' || id === undefined))
      throw new Fault('bad-input', what === 'get' ? 'Which artifact?' : `Unknown: artifacts ${what}`, {
        hint: '`handrail artifacts list` shows them; then `handrail artifacts get ID`.',
      })
    const runtime = open()
    try {
      const runsApi = await runtime.runs()
      if (what === 'get') {
        await print(runsApi, wholeId(runtime, 'artifact', id as string))
        return 0
      }
      const found = await runsApi.artifacts(id === undefined ? undefined : wholeId(runtime, 'run', id))
      if (json) for (const one of found) say(terminalJson(one))
      else if (found.length === 0) say('No artifacts.')
      else
        say(
          table(
            ['id', 'run', 'type', 'size', 'made', ''],
            found.map((one) => [
              one.artifactId,
              one.runId,
              one.mimeType,
              size(one.bytes),
              ago(one.createdAt),
              one.expired ? 'expired' : '',
            ]),
          ),
        )
      return 0
    } finally {
      await runtime.close()
    }
  },
}

/** Chunk by chunk, however large it is. */
async function print(runsApi: RunsApi, id: string): Promise<void> {
  for (let offset = 0; ;) {
    const chunk = await runsApi.artifact(id, offset, runBounds.artifactMaxChunkSize)
    const text = process.stdout.isTTY ? printableBlock(chunk.data) : chunk.data
    const written = process.stdout.write(isTextType(chunk.mimeType) ? text : Buffer.from(chunk.data, 'base64'))
    // Whoever reads more slowly than it is read from the disk does not fill the memory.
    if (!written) await once(process.stdout, 'drain')
    offset += chunk.length
    if (chunk.complete) return
  }
}
