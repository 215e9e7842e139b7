// One process with a runtime, told over IPC what to call: the reader's calls and the large ones meet on the same event loop.
import { createRequire } from 'node:module'

const [, , library, project] = process.argv
const { openRuntime } = createRequire(import.meta.url)(library)
const runtime = openRuntime({ project, environment: process.env, flags: { 'enable-shell': 'true' } })
const caller = (role, session = `bench-${role}`) => ({ surface: 'cli', client: 'bench', session, role })

process.on('message', async ({ id, tool, input, role, session }) => {
  if (tool === undefined) return process.send({ id, says: globalThis.takeLoopStops() })
  try {
    const { output } = await runtime.call(tool, input, caller(role, session), { approvalWaitMs: 0 })
    process.send({ id, output: tool === 'shell' ? { ok: output.ok, confined: output.confined } : {} })
  } catch (fault) {
    process.send({ id, fault: { code: fault.reason, message: fault.message } })
  }
})
process.on('disconnect', () => process.exit(0))
process.send({ ready: true })
