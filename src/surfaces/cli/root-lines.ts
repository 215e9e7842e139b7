import type { NamedRoot } from '../../contracts/roots.ts'
import { rootMark, rootOf } from '../../text/root-path.ts'
import { dim, printable, say } from './print.ts'
import { folded } from './screen-rows.ts'

/** Says which folders the roots are that these paths name, below what names them. */
export function sayRoots(paths: readonly string[], roots: readonly NamedRoot[]): void {
  for (const mark of new Set(paths.flatMap((path) => rootOf(path) ?? []))) {
    const root = roots.find(({ name }) => rootMark(name) === mark)
    say(dim(folded(printable(`${mark} is ${root?.path ?? 'a root that your settings no longer name'}`))))
  }
}
