// The order that the gateway's guide recommends (seed 001 §6), over plain HTTP: read, change, read again, shell only where files do not do.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const handrail = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'bin', 'handrail.js')
const base = mkdtempSync(join(tmpdir(), 'handrail-example-'))
const project = join(base, 'project')
const env = { PATH: process.env.PATH, HOME: base, XDG_STATE_HOME: join(base, 'state'), XDG_CONFIG_HOME: join(base, 'config') }
mkdirSync(join(project, 'docs'), { recursive: true })
writeFileSync(join(project, 'docs', 'plan.md'), '# Plan\n\n- write the guide\n')

const server = spawn(process.execPath, [handrail, 'serve', '--project', project, '--port', '0', '--json', '--enable-shell'], {
  env,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const [line] = await once(createInterface(server.stdout), 'line')
  const { url, tokenFile } = JSON.parse(line)
  const token = readFileSync(tokenFile, 'utf8').trim()

  /** One tool call; the answer has reply, events and tool_result. */
  const call = async (text, name, input) => {
    const response = await fetch(`${url}/agent/process`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
        session_id: 'example',
        user_id: 'me',
        channel: 'console',
        stream: false,
        biz_params: { tool: { name, input } },
      }),
    })
    const body = await response.json()
    console.log(`${response.status} ${name.padEnd(12)} ${JSON.stringify(body.tool_result?.text ?? body.error).slice(0, 90)}`)
    return { status: response.status, ...body }
  }

  // 1. read
  const path = 'docs/plan.md'
  const before = await call('What is the plan?', 'read_file', { path })
  assert.equal(before.tool_result.content, '# Plan\n\n- write the guide\n')

  // 2. change
  const added = await call('Add a line.', 'update_file', { path, content: '- run it\n', mode: 'append' })
  assert.equal(added.tool_result.text, 'updated docs/plan.md with mode=append')
  assert.match(added.tool_result.snapshot_id, /^snap_/)

  // 3. read again
  const after = await call('Is it there?', 'read_file', { path })
  assert.equal(after.tool_result.content, '# Plan\n\n- write the guide\n- run it\n')

  // 4. shell, for what files cannot do: here, to count
  const { confinement } = await (await fetch(`${url}/healthz`)).json()
  const counted = await call('How many points has it?', 'shell', { command: "grep -c '^- ' docs/plan.md", timeout_seconds: 20 })
  if (confinement.confined) {
    assert.equal(counted.tool_result.output, '2\n')
    assert.equal(counted.tool_result.effects, 'none')
  } else assert.equal(counted.tool_result.effects, 'waiting', 'where nothing confines a program, a person is asked before it runs')

  // What is out of bounds stays there.
  const refused = await call('And this?', 'read_file', { path: '/etc/passwd' })
  assert.deepEqual([refused.status, refused.error.code], [403, 'tool_forbidden_path'])

  // And the person takes it back.
  execFileSync(process.execPath, [handrail, 'undo', '--last', '--yes', '--project', project], { env, stdio: 'ignore' })
  assert.equal(readFileSync(join(project, path), 'utf8'), '# Plan\n\n- write the guide\n')
  console.log('All as it should be.')
} finally {
  server.kill('SIGTERM')
  await once(server, 'exit')
  rmSync(base, { recursive: true, force: true })
}
