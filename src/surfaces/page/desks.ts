import type { Operator } from '../../contracts/operator.ts'
import { oneLine } from '../../text/printable.ts'
import type { PageOptions } from './html.ts'
import type { Words } from './words.ts'

/** What a page shows of one project, and takes the person's answers for: each goes to that project's own store and log. */
export type Desk = Pick<Operator, 'project' | 'approvals' | 'questions'> & {
  readonly audit: Pick<Operator['audit'], 'subscribe'>
  readonly gate: Pick<Operator['gate'], 'notice'>
}

/** The projects of a page, as they are now: one at `handrail serve`, all that are at work at `handrail desk`. */
export type Desks = () => readonly Desk[]

/** The project that something is asked in. Ids are random: no two projects have the same. */
export function deskWith(desks: Desks, id: string): Desk | undefined {
  return desks().find(({ approvals, questions }) =>
    id.startsWith('ask_') ? questions.get(id) !== undefined : approvals.state(id) !== undefined,
  )
}

export const waitingAt = ({ approvals, questions }: Desk): number => approvals.count('pending') + questions.count()

export const waitingIn = (desks: Desks): number => desks().reduce((sum, desk) => sum + waitingAt(desk), 0)

/** A project by the name of its folder. */
export const nameOf = ({ project }: Pick<Desk, 'project'>): string =>
  oneLine(/[^\\/]+(?=[\\/]*$)/.exec(project)?.[0] ?? project, 60)

/** Said above every page: of what, and how much waits there. */
export function about(desks: Desks, words: Words): Pick<PageOptions, 'about'> {
  const [only, ...others] = desks()
  const name = only && others.length === 0 ? nameOf(only) : words.list.projects(desks().length)
  return { about: { name, waiting: waitingIn(desks) } }
}
