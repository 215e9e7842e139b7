// `npm run soak`: the same tests with every sweep at its full length. Before an issue is called resolved; not in CI.
process.env.HANDRAIL_SOAK = '1'
await import('./test.mjs')
