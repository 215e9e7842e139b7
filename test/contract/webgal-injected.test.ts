import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { draws } from '../support/seed.ts'
import { sweep } from '../support/soak.ts'
import { faults } from '../support/webgal-faults.ts'
import { openWorld, repository } from '../support/world.ts'

const game = join(import.meta.dirname, '../../examples/lighthouse/game')

/** The files of the sample game, their contents only where they matter. */
function sample(): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(game, { recursive: true, encoding: 'utf8' }))
    if (/\.\w+$/.test(name)) found[`game/${name}`] = /\.(?:txt|json)$/.test(name) ? readFileSync(join(game, name), 'utf8') : ''
  return found
}

/** Lines as games have them, besides those of the sample game. */
const lines = [
  'setTempAnimation:[{"alpha":0,"duration":0},{"alpha":1,"duration":500}] -target=bg-main -keep -next;',
  'setTransform:{"position":{"x":-50,"y":0},"scale":{"x":1.2,"y":1.2}} -target=fig-left -duration=300 -ease=easeInOut -next;',
  'setTransform:{"alpha":0.5,"rotation":0.1} -target=bg-main -duration=500 -keep;',
  'setTransform:{"blur":5} -target=fig-right -duration=200 -next;',
  'changeFigure:mara.webp -left -transform={"alpha":1,"position":{"x":-20,"y":0}} -duration=300 -next;',
  'changeBg:study.webp -enter=flare -duration=800 -next;',
  'changeBg:none -next;',
  'bgm:none;',
  'bgm:waltz.wav -volume=40 -enter=500 -unlockname=Waltz;',
  'unlockBgm:waltz.wav -name=Waltz;',
  'getUserInput:who -title=Name -buttonText=Good;',
  'pixiPerform:rain;',
  'pixiInit;',
  'playEffect:match.wav -volume=60 -id=loop;',
  'miniAvatar:mini_mara.webp;',
  'wait:500;',
  'jumpLabel:search;',
  'label:search;',
  '林船长:风小了，我们往南走。;',
  'Mara:When the lamp burned, the boats came home -horn.wav -volume=30;',
  'Keeper:I counted them, one by one, until there were none left.;',
  ':The sea is calm, the lamp is dark.;',
  'choose:Wait for the tide:search|Climb the stairs:lamp.txt;',
  'choose:(trust>=2)->Trust her:search|Leave:home.txt;',
  'setVar:trust=trust+1 -global;',
  'callScene:memory.txt -next;',
  'changeScene:light.txt -when=trust==2;',
  ':She waits. -when=trust<2;',
]

interface Verdict {
  diagnostics: { line: number; code: string; severity: string }[]
}

test('faults put into real lines are told: fewer than three in a hundred go by', async () => {
  const files = sample()
  await using world = await openWorld({ files })
  const real = [...Object.entries(files).flatMap(([name, text]) => (name.includes('/scene/') ? text.split('\n') : [])), ...lines]
  const sound = [...new Set(real)].filter((line) => line.trim() !== '' && (!line.startsWith(';') || !line.includes('.txt')))
  const told = async (content: string[]): Promise<Map<number, string[]>> => {
    const found = new Map<number, string[]>()
    // Of one scene only so many are put into words.
    for (let from = 0; from < content.length; from += 500) {
      const all = ['label:search;', 'label:boat;', 'label:bell;', ...content.slice(from, from + 500)]
      const { diagnostics } = await world.call<Verdict>('validate_script', { content: all.join('\n') })
      for (const { line, code, severity } of diagnostics) {
        const index = from + line - 4
        if (severity !== 'info' && line >= 4) found.set(index, [...(found.get(index) ?? []), code])
      }
    }
    return found
  }
  const pick = draws('webgal faults')
  const chosen = Array.from({ length: sweep(10, 1) }).flatMap(() =>
    Object.entries(faults).flatMap(([kind, inject]) =>
      sound.flatMap((line) => {
        const made = inject(line, pick)
        return made === undefined || made === line ? [] : [{ kind, line, made }]
      }),
    ),
  )
  const kinds = [...new Set(chosen.map(({ kind }) => kind))]
  expect(kinds.toSorted()).toEqual(Object.keys(faults).toSorted())
  expect(chosen.length).toBeGreaterThan(1_000)
  const guide = readFileSync(join(repository, 'docs/guide/webgal-faults.md'), 'utf8')
  expect(kinds.filter((kind) => !guide.includes(`| ${kind} |`))).toEqual([])
  // Labels twice, jumps over what follows and unknown variables are not what these lines are about.
  const aside = new Set(['duplicate-label', 'unreachable'])
  const found = await told(chosen.flatMap(({ made }) => [made]))
  const unseen = chosen.filter((_, index) => (found.get(index) ?? []).every((code) => aside.has(code)))
  const wrong = [...(await told(sound))].filter(([, codes]) =>
    codes.some((code) => !aside.has(code) && code !== 'choice-label' && code !== 'missing-label'),
  )
  expect(wrong.map(([index, codes]) => [sound[index], codes])).toEqual([])
  expect(unseen.length / chosen.length, unseen.map(({ kind, made }) => `${kind}: ${made}`).join('\n')).toBeLessThan(0.03)
})
