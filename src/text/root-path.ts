/**
 * The project's paths are relative: `a/b.txt`. A path in a further root begins with two slashes and the name the person gave that root:
 * `//docs/a/b.txt`. A normalised relative path never begins with a slash, so whatever holds a path says by itself which root it is of.
 */
const mark = '//'

/** A root as it stands in front of its paths. */
export const rootMark = (name: string): string => mark + name

export const isInRoot = (path: string): boolean => path.startsWith(mark)

/** The names on the way to a path. Of one in a further root the first is `//NAME`: joined with slashes they are the path again. */
export function namesOn(path: string): string[] {
  if (!isInRoot(path)) return path.split('/')
  const [name = '', ...rest] = path.slice(mark.length).split('/')
  return [mark + name, ...rest]
}

/** The root a path is of, as it stands in front of it; undefined is the project. */
export function rootOf(path: string): string | undefined {
  return isInRoot(path) ? namesOn(path)[0] : undefined
}

/** The path as seen from its own root. */
export function belowRoot(path: string): string {
  return isInRoot(path) ? namesOn(path).slice(1).join('/') : path
}
