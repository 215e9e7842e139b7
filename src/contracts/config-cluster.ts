import Type from 'typebox'
import { entry, list, text } from './config-bounds.ts'
import { closed } from './shapes.ts'

/** Where it names machines, signs in or decides who shares what, only the person says it. */
const own = { tighter: 'person' } as const

/** Runs on several machines. Without a database none of it counts. */
export const cluster = Type.Object(
  {
    databaseUrl: Type.String({
      ...text,
      ...own,
      secret: true,
      default: '',
      description:
        'PostgreSQL that runs and artifacts are kept in, so that several machines share them: postgres://USER:PASSWORD@HOST/NAME?sslmode=verify-full. Empty: the embedded store. Never as a flag, and not in a project’s own file.',
    }),
    redisUrl: Type.String({
      ...text,
      ...own,
      secret: true,
      default: '',
      description:
        'Redis for the queue in the place of PostgreSQL: redis:// or rediss://. Runs stay in PostgreSQL. Never as a flag, and not in a project’s own file.',
    }),
    runSpace: Type.String({
      pattern: '^[A-Za-z0-9._-]{0,64}$',
      ...own,
      default: '',
      description:
        'Name under which machines share runs in one database: up to 64 letters of a to z, digits, dots, hyphens and underscores. Empty: those of this project on this machine only. Not in a project’s own file.',
    }),
    leaseMs: Type.Integer({
      minimum: 1_000,
      maximum: 600_000,
      ...own,
      default: 15_000,
      description:
        'How long a worker may say nothing before its runs are taken over (ms). The same on every machine. Not in a project’s own file.',
    }),
    workerTemplates: Type.Array(Type.String({ minLength: 1, ...entry }), {
      ...list,
      ...own,
      default: [],
      description: 'Templates whose runs this machine carries out for others. Empty: all. Not in a project’s own file.',
    }),
    artifactUrl: Type.String({
      ...text,
      ...own,
      default: '',
      description:
        'S3-compatible bucket for the contents of artifacts: https://HOST/BUCKET. Empty: the database. Not in a project’s own file.',
    }),
    artifactRegion: Type.String({
      ...entry,
      ...own,
      default: 'us-east-1',
      description: 'Region of that bucket. Not in a project’s own file.',
    }),
    artifactKeyId: Type.String({
      ...entry,
      ...own,
      default: '',
      description: 'Access key id for that bucket. Not in a project’s own file.',
    }),
    artifactSecret: Type.String({
      ...entry,
      ...own,
      secret: true,
      default: '',
      description: 'Secret key for that bucket. Never as a flag, and not in a project’s own file.',
    }),
  },
  closed,
)
