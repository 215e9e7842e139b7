import { region } from './blocks.ts'

const aside = region.nav | region.header | region.footer | region.aside | region.named | region.dialog

/**
 * Which places of a page hold what it is about, from how many characters stand in each: what the page itself calls main, else its articles,
 * else all that is no navigation, header, footer or the like. Where that would be next to nothing, everything is.
 */
export function mainPlaces(weights: ReadonlyMap<number, number>): (flags: number) => boolean {
  const all = [...weights.values()].reduce((sum, chars) => sum + chars, 0)
  const holds = (is: (flags: number) => boolean): number =>
    [...weights].reduce((sum, [flags, chars]) => sum + (is(flags) ? chars : 0), 0)
  const inMain = (flags: number): boolean => (flags & region.main) !== 0 && (flags & (region.nav | region.dialog)) === 0
  const inArticle = (flags: number): boolean => (flags & region.article) !== 0 && (flags & (region.nav | region.dialog)) === 0
  const unnamed = (flags: number): boolean => (flags & aside) === 0
  if (holds(inMain) >= Math.min(200, all * 0.2) && holds(inMain) > 0) return inMain
  if (holds(inArticle) >= all * 0.3 && holds(inArticle) > 0) return inArticle
  if (holds(unnamed) >= all * 0.2) return unnamed
  return () => true
}
