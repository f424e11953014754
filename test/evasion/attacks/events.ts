import type { Attack } from '../attack'

export const EVENTS: readonly Attack[] = [
  {
    about: 'Events',
    tried: 'a path of 1,600 characters escaped twice',
    sends: { path: `/${'%2525'.repeat(1600)}` },
    passes: 10,
    now: 'at most 256 readings, 65,536 characters',
  },
  {
    about: 'Events',
    tried: 'a path of thousands of dots and slashes',
    sends: { path: `/${'..;/%2e%2e\\'.repeat(700)}search` },
    passes: 0,
    now: 'denied, `reason: malformed`',
  },
  {
    about: 'Events',
    tried: 'quotes, line breaks and `$context` in names, to forge an answer',
    sends: { path: '/%22%0d%0aX-Admin:1$context.authorizer.allowed', headers: { 'X-Api-Key': '"}$input.body' } },
    passes: 10,
    now: 'no answer has what a client says',
  },
]
