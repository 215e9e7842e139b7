import { expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'

/** A project's settings only tighten; what they tighten is what agents may do, never whether a person can take it back. */
const tightenings = {
  readOnly: { readOnly: true },
  disabledTools: { disabledTools: ['undo'] },
  forbiddenDirs: { policies: { forbiddenDirs: ['.git', 'node_modules', 'docs'] } },
  sandboxRoot: { policies: { sandboxRoot: 'elsewhere' } },
}

test.for(Object.entries(tightenings))(
  'a project that brings %s after a write does not take the undo away',
  async ([, settings]) => {
    await using world = await openWorld({
      flags: { 'write-requires-diff': 'false' },
      files: { 'docs/a.txt': 'mine\n', 'elsewhere/b.txt': '' },
    })
    await world.call('write_to_file', { path: 'docs/a.txt', content: 'theirs\n', dryRun: false })
    world.write('handrail.config.json', JSON.stringify(settings))
    const agents = await runInside(world.project, [
      'call',
      'write_to_file',
      '{"path":"docs/a.txt","content":"more","dryRun":false}',
    ])
    expect(agents.code).not.toBe(0)
    expect(await runInside(world.project, ['undo', '--last', '--yes'])).toMatchObject({ code: 0 })
    expect(world.read('docs/a.txt')).toBe('mine\n')
  },
)
