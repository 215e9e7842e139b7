import type { Factory } from '../../../contracts/anchors.ts'

const drizzle = (module: string, callee: string): Factory => ({ kind: 'SchemaDef', module, callee, id: '0', def: 1 })
const testing = (module: string, ...callees: string[]): Factory[] =>
  callees.map((callee) => ({ kind: 'TestDef', module, callee, id: '0', def: 1, optional: true }))

/** What definitions of well-known libraries look like. Only what is imported from them counts: a name alone is a guess. */
export const presets: Readonly<Record<string, readonly Factory[]>> = {
  route: [
    ...['@tanstack/react-router', '@tanstack/solid-router'].flatMap((module): Factory[] => [
      { kind: 'RouteDef', module, callee: 'createFileRoute', id: '0', def: 0, curried: true },
      { kind: 'RouteDef', module, callee: 'createRoute', id: 'property:path', def: 0 },
    ]),
    { kind: 'RouteDef', module: '@hono/zod-openapi', callee: 'createRoute', id: 'property:path', def: 0 },
  ],
  schema: [
    ...['pgTable', 'pgView'].map((callee) => drizzle('drizzle-orm/pg-core', callee)),
    drizzle('drizzle-orm/mysql-core', 'mysqlTable'),
    drizzle('drizzle-orm/sqlite-core', 'sqliteTable'),
    { kind: 'SchemaDef', module: 'zod', callee: 'z.object', id: 'binding', def: 0 },
    { kind: 'SchemaDef', module: 'valibot', callee: 'object', id: 'binding', def: 0 },
  ],
  store: [
    {
      kind: 'StoreDef',
      module: '@reduxjs/toolkit',
      callee: 'createSlice',
      id: 'property:name',
      def: 0,
      fields: [{ name: 'reducers', value: '{}' }],
    },
    { kind: 'StoreDef', module: 'pinia', callee: 'defineStore', id: '0', def: 1 },
  ],
  test: [
    ...testing('vitest', 'test', 'it', 'describe', 'suite'),
    ...testing('node:test', 'test', 'it', 'describe', 'suite'),
    ...testing('@playwright/test', 'test', 'test.describe'),
    ...testing('@jest/globals', 'test', 'it', 'describe'),
  ],
  story: [
    { kind: 'StoryDef', module: '@storybook/react', callee: 'storiesOf', id: '0', def: 2, optional: true },
    { kind: 'StoryDef', module: '@storybook/addon-svelte-csf', callee: 'defineMeta', id: 'property:title', def: 0 },
  ],
  module: [
    {
      kind: 'ModuleDef',
      module: '@logixjs/core',
      callee: 'Module.make',
      id: '0',
      def: 1,
      fields: [{ name: 'services', value: '{}' }],
    },
  ],
}
