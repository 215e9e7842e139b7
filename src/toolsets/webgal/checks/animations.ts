import { featureSince } from '../grammar/commands.ts'
import { placeholders } from '../grammar/mistaken.ts'
import { isIn } from '../language.ts'
import { isOpen } from './expressions.ts'
import type { SceneContext } from './scene-context.ts'

/** An animation is played only if the table lists it; the file alone is not enough. */
export function checkAnimation(name: string, line: number, scene: SceneContext): void {
  if (name === '' || name === 'none' || isOpen(name) || placeholders.has(name)) return
  const at = scene.game.animation(name)
  // The newest engines bring some of their own.
  if (at === 'missing' && name.endsWith('-v2') && isIn({ since: featureSince.animationObjects }, scene.language.version)) return
  if (at === 'missing') scene.add({ line, code: 'missing-animation', about: { name } })
  if (at === 'not-in-table') scene.add({ line, code: 'animation-not-in-table', about: { name } })
}
