export const requirements = {} as const
export type RequirementId = keyof typeof requirements
