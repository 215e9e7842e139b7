/**
 * What a turn about the agent itself may change: the person's words about it, and of the project its prompts, its skills and its words about the agent.
 * Those of the project count only once a person has trusted what was written.
 */
export const ownFiles = {
  says: '//identity/*.md, handrail/identity.md, handrail/prompts/<id>.md, skills_workspace/<skill>/… (those of the project count once the person trusts them)',
  are: (path: string): boolean =>
    !path.split('/').includes('..') &&
    /^(?:\/\/identity\/[^/]+\.md|handrail\/identity\.md|handrail\/prompts\/.+\.md|skills_workspace\/[^/]+\/.+)$/.test(path),
}
