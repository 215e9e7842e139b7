import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { dirname } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { serveAcpFor } from '../../src/runtime/acp.ts'
import { leftOpen } from './left-open.ts'
import { cleanEnv, program, type World } from './world.ts'

export type Update = Record<string, unknown> & { sessionUpdate: string }

/** What an editor does: the requests of the official SDK's own client. */
export interface Editor {
  /** Everything that was told of any session, in order. */
  updates: Update[]
  /** Every dialog that was opened. */
  dialogs: Record<string, unknown>[]
  open(): Promise<{ sessionId: string; modes?: { currentModeId: string; availableModes: { id: string }[] } | null }>
  load(sessionId: string): Promise<unknown>
  mode(sessionId: string, modeId: string): Promise<unknown>
  ask(sessionId: string, text: string): Promise<{ stopReason: string }>
  /** Resolves once something with these words in it was told. */
  hears(words: string): Promise<void>
}

interface EditorOptions {
  /** What its dialogs are answered with, as an editor does that answers by itself. */
  answer?: 'allow' | 'reject'
}

/** An editor on a pair of streams, for as long as `act` takes. */
async function connected<T>(
  project: string,
  input: Writable,
  output: Readable,
  { answer = 'allow' }: EditorOptions,
  act: (editor: Editor) => Promise<T>,
): Promise<T> {
  const seen: Pick<Editor, 'updates' | 'dialogs'> = { updates: [], dialogs: [] }
  const told = new EventEmitter()
  const stream = ndJsonStream(
    Writable.toWeb(input) as WritableStream<Uint8Array>,
    Readable.toWeb(output) as ReadableStream<Uint8Array>,
  )
  return client({ name: 'zed' })
    .onNotification(methods.client.session.update, ({ params }) => {
      seen.updates.push(params.update as Update)
      told.emit('update')
    })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      seen.dialogs.push(params as unknown as Record<string, unknown>)
      return { outcome: { outcome: 'selected', optionId: answer } }
    })
    .connectWith(stream, async (agent) => {
      await agent.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: {},
        clientInfo: { name: 'zed', version: '1' },
      })
      return act({
        ...seen,
        async hears(words) {
          while (!JSON.stringify(seen.updates).includes(words)) await once(told, 'update')
        },
        open: () => agent.request(methods.agent.session.new, { cwd: project, mcpServers: [] }),
        load: (sessionId) => agent.request(methods.agent.session.load, { sessionId, cwd: project, mcpServers: [] }),
        mode: (sessionId, modeId) => agent.request(methods.agent.session.setMode, { sessionId, modeId }),
        ask: (sessionId, text) => agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
      })
    })
}

/** An editor that starts the real program, `handrail acp`, over stdio; it has ended when this resolves. */
export async function inEditor<T>(
  { project }: World,
  act: (editor: Editor) => Promise<T>,
  options: EditorOptions & { env?: Record<string, string> } = {},
): Promise<T> {
  const child = spawn(process.execPath, [program, 'acp', '--project', project], {
    env: cleanEnv(dirname(project), options.env),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const over = new Promise((resolve) => child.once('close', resolve))
  const closed = leftOpen(() => void child.kill('SIGKILL'))
  try {
    return await connected(project, child.stdin, child.stdout, options, act)
  } finally {
    child.stdin.end()
    await over
    closed()
  }
}

/** The same inside the test process, on the runtime of the world. */
export async function inEditorHere<T>(
  { project, runtime }: World,
  act: (editor: Editor) => Promise<T>,
  options: EditorOptions = {},
): Promise<T> {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = serveAcpFor(runtime, input, output)
  try {
    return await connected(project, input, output, options, act)
  } finally {
    input.end()
    await served
  }
}
