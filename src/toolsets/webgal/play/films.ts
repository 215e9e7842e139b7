import { randomBytes } from 'node:crypto'

/** Whoever plays a game for minutes cannot hold a file for as long: the pages wait here to be written. */
const films = new Map<string, string>()
const mostFilms = 3

export function keepFilm(html: string): string {
  const id = `film_${randomBytes(9).toString('base64url')}`
  films.set(id, html)
  for (const old of [...films.keys()].slice(0, -mostFilms)) films.delete(old)
  return id
}

export const filmOf = (id: string): string | undefined => films.get(id)
