/** Whether this is `npm run soak`: then sweeps go their whole way, else a sample of each. */
export const isSoak = process.env['HANDRAIL_SOAK'] === '1'

/** How often something is done: the whole sweep before an issue is called resolved, a smaller case of it in every `npm test`. */
export const sweep = (whole: number, sample: number): number => (isSoak ? whole : sample)
