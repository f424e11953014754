import type { AlgorithmName } from '../../../limiter/policies/policy'

interface Uses {
  readonly use: string
  readonly against: string
  /** What an exact log would call wrong, and this algorithm does on purpose: by what. @default nothing */
  readonly onPurpose?: { readonly wronglyAllowed?: string; readonly wronglyDenied?: string }
}

/** What each algorithm is for, and what speaks against it, as docs/algorithms.md says at length. */
export const USES: Readonly<Record<AlgorithmName, Uses>> = {
  'fixed-window': {
    use: 'quotas by day or billing month, also by the calendar',
    against: 'up to twice the limit across an edge',
  },
  'anchored-window': {
    use: 'windows that begin with each client’s first request, so that not all clients return at once',
    against: 'up to twice the limit across an edge',
  },
  'sliding-window': {
    use: 'nearly everything: smooth, two counts, no edge to burst across',
    against: 'takes the window before as evenly spread',
  },
  'sliding-buckets': {
    use: 'a rolling window for larger limits, which takes nothing as evenly spread',
    against: 'a count for each sub-window; exact in a window that is one of them shorter',
  },
  'sliding-log': {
    use: 'small limits that must be exact in any interval',
    against: '9 bytes a request',
  },
  'token-bucket': {
    use: 'a burst and a pace, as two numbers',
    against: 'up to burst + limit in one window',
    onPurpose: { wronglyAllowed: 'its burst' },
  },
  'leaky-bucket': {
    use: 'a queue: an even stream for a backend that cannot take bursts',
    against: 'requests wait, and hold their connection meanwhile',
  },
  gcra: {
    use: 'a pace enforced from request to request, with the least state',
    against: 'clients see no window to line up with',
    onPurpose: { wronglyDenied: 'its pace' },
  },
}
