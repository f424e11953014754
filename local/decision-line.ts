import type { Decided } from './gateway/decided'

/** `200 free GET /hello 58 left`: the line of each decision in the terminal. */
export function decisionLine({ method, path, status, context }: Decided): string {
  const tier = textOf(context?.tier) || '-'
  return [status, tier, method, path, standing(context)].filter((part) => part !== '').join(' ')
}

/** The caller's state after the decision. */
function standing(context: Decided['context']): string {
  if (context === undefined) return ''
  const reason = textOf(context.reason)
  const degraded = isTrue(context.degraded) ? ', counted without the table' : ''
  if (reason !== 'ok' && reason !== 'over-limit' && reason !== 'degraded') return reason
  if (textOf(context.policy) === '') return reason
  if (isTrue(context.allowed)) {
    const marks = [isTrue(context.overrun) && 'overrun', isTrue(context.observed) && 'observed: would be denied']
    return [`${context.remaining} left${degraded}`, ...marks.filter((mark) => mark !== false)].join(', ')
  }
  return `${context.remaining} left in ${textOf(context.policy)}, again in ${context.retryAfter} s${degraded}`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const isTrue = (value: unknown): boolean => value === true || value === 'true'
