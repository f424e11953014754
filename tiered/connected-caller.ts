import type { RequestTrace } from '../lambda/request-trace'

/** The caller whose connection the authorizer allowed, as its context names it. */
export interface ConnectedCaller {
  /** The key of the caller's state. */
  readonly subject: string
  readonly tier: string
  /** Whether the caller passed uncounted, by the allow list. */
  readonly isExempt: boolean
}

/** A connected caller as a subject: by its own state, alone and together with other dimensions. */
const callerOf = ({ subject }: ConnectedCaller): string => `connection:${subject}`

/** Whether the connection was counted by its address, because nothing else is known of its caller. */
const isAnonymous = ({ subject }: ConnectedCaller): boolean => /^ip[#~]/.test(subject)

/** The claim of a connected caller, whom the authorizer has identified; none for an anonymous one. */
export const claimOfConnection = (connection: ConnectedCaller) =>
  isAnonymous(connection)
    ? undefined
    : ({ kind: 'claim', caller: callerOf(connection), tier: connection.tier || undefined } as const)

/**
 * What is known of a connection's caller beside the address of the connection: the key of its state, and that it passes
 * uncounted. An anonymous caller's state is that of the address which the authorizer saw, behind proxies too.
 */
export function ofConnection(
  connection: ConnectedCaller,
  found: Partial<RequestTrace>,
  keyOf: (subject: string) => string,
): Partial<RequestTrace> {
  const caller = callerOf(connection)
  return {
    ...found,
    keyOf: (subject) => (subject === caller ? connection.subject : keyOf(subject)),
    ...(isAnonymous(connection) && { address: caller }),
    ...(connection.isExempt && found.access === undefined && { access: 'allow' as const }),
  }
}
