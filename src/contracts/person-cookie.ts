/** The cookie that tells the person from everybody else; no server of an agent gets to see it. */
export const personCookie = 'handrail_person'
