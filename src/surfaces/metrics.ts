import type { ClusterView } from '../contracts/cluster.ts'
import { runStatuses, type RunsApi } from '../contracts/run.ts'
import type { Route } from './routes.ts'

/** What is counted. */
interface Counted {
  version: string
  runs(): Promise<RunsApi>
  cluster(): Promise<ClusterView | undefined>
}

/** Numbers for whoever watches over it, in the form that Prometheus reads. No name of a machine, project or person is among them. */
export const metricsOf = (operator: Counted): Route => ({
  for: 'agent',
  methods: ['GET', 'HEAD'],
  async handle({ response }) {
    const text = await metricsText(operator)
    response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8', 'Cache-Control': 'no-store' })
    response.end(text)
  },
})

async function metricsText(operator: Counted): Promise<string> {
  const lines: string[] = []
  const add = (name: string, says: string, rows: [labels: Record<string, string>, value: number][], type = 'gauge'): void => {
    lines.push(`# HELP handrail_${name} ${says}`, `# TYPE handrail_${name} ${type}`)
    for (const [labels, value] of rows) lines.push(`handrail_${name}${inBraces(labels)} ${value}`)
  }
  add('info', 'The version that answers.', [[{ version: operator.version }, 1]])
  add('resident_memory_bytes', 'Memory of this process.', [[{}, process.memoryUsage.rss()]])
  const { user, system } = process.cpuUsage()
  add('cpu_seconds_total', 'Processor time of this process.', [[{}, (user + system) / 1e6]], 'counter')
  let cluster: ClusterView | undefined
  try {
    cluster = await operator.cluster()
    const runsApi = await operator.runs()
    const totals = await Promise.all(
      runStatuses.map(async (status): Promise<[Record<string, string>, number]> => {
        return [{ status }, (await runsApi.list({ status, limit: 1 })).total]
      }),
    )
    add('store_up', 'Whether the store of runs answers.', [[{}, 1]])
    add('runs', 'Runs that are kept, by status.', totals)
  } catch {
    // Why is for `doctor` to say.
    add('store_up', 'Whether the store of runs answers.', [[{}, 0]])
  }
  if (cluster) addCluster(cluster, add)
  return `${lines.join('\n')}\n`
}

function addCluster(
  { workers, depth }: ClusterView,
  add: (name: string, says: string, rows: [Record<string, string>, number][]) => void,
): void {
  add('queue_oldest_seconds', 'How long the run that waits longest has waited.', [[{}, depth.oldestMs / 1000]])
  add('queue_offered', 'Offers in the queue that nobody came for yet.', [[{}, depth.offered]])
  add('runs_waiting_for_person', 'Runs that wait for an answer.', [[{}, depth.waitingForPerson]])
  const alive = workers.filter((worker) => worker.alive)
  add('workers', 'Processes that share the runs.', [
    [{ state: 'alive' }, alive.length],
    [{ state: 'draining' }, alive.filter(({ draining }) => draining).length],
    [{ state: 'silent' }, workers.length - alive.length],
  ])
  add(
    'worker_slots',
    'Runs a worker carries out at once.',
    alive.map(({ name, slots }) => [{ worker: name }, slots]),
  )
  add(
    'worker_running',
    'Runs a worker has under way.',
    alive.map(({ name, running }) => [{ worker: name }, running]),
  )
}

function inBraces(labels: Record<string, string>): string {
  const all = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return all.length > 0 ? `{${all.join(',')}}` : ''
}
