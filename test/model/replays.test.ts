import { replay } from './replay'

/** Scenarios that once broke a law, as the model printed them. */
describe('a history that once broke a law now obeys it:', () => {
  it('a request that reserves nothing has no reservation, where its answer was lost either', () =>
    replay({
      seed: 1,
      policies: [{ name: 'anchored', algorithm: 'anchored-window', limit: 3, window: '3s', consistency: 'leased' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'outage', ms: 100 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1, reserve: 10_000 },
        { after: 1998, on: 0, do: 'settle', of: 0, back: 0, used: 0 },
      ],
    }))

  it('a request that reserves nothing yet passes a policy that is past a lowered limit', () =>
    replay({
      seed: 1,
      policies: [{ name: 'log', algorithm: 'sliding-log', limit: 2, window: '3s', cost: 'tokens' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 7, on: 0, do: 'change', percent: 50 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1, costs: { tokens: 0 }, reserve: 1000 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
      ],
      denialTtlMs: 5000,
    }))

  it('a copy of a charge that arrives after newer charges is not applied', () =>
    replay({
      seed: 1,
      policies: [{ name: 'fixed', algorithm: 'fixed-window', limit: 3, window: '1s' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1, faults: ['copied late'] },
        { after: 100, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))

  it('a copy of a refund that arrives after newer charges is not applied', () =>
    replay({
      seed: 1,
      policies: [{ name: 'window', limit: 1, window: '1s' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 8, on: 0, do: 'refund', of: 0, back: 0, withTime: false, faults: ['copied'] },
        { after: 8, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 100, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))

  it('a reset whose answer is late leaves units that are charged meanwhile', () =>
    replay({
      seed: 1,
      policies: [{ name: 'window', limit: 1, window: '1s' }],
      instances: [{ skewMs: -500 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 4, on: 0, do: 'reset', of: 0, faults: ['answer late'] },
        { after: 1, on: 1, do: 'take', of: 0, cost: 1 },
        { after: 999, on: 0, do: 'peek', of: 0, cost: 0 },
      ],
    }))

  it('a store that comes back for a moment does not renew the local count of an instance', () =>
    replay({
      seed: 1,
      policies: [{ name: 'token', algorithm: 'token-bucket', limit: 1, window: '1s', burst: 10 }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 2, faults: ['unreachable', 'request lost', 'request lost'] },
        { after: 2000, on: 0, do: 'take', of: 0, cost: 1, times: 2 },
        { after: 8, on: 0, do: 'take', of: 1, cost: 1, faults: ['throttled', 'request lost'] },
        { after: 193, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 3 },
      ],
    }))

  it('a refund whose answer was lost is given up after a reset, which may have deleted it', () =>
    replay({
      seed: 1,
      policies: [{ name: 'leaky', algorithm: 'leaky-bucket', limit: 1, window: '1s' }],
      instances: [{ skewMs: 0 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 1, do: 'peek', of: 0, cost: 0, faults: ['reset after'] },
        { after: 0, on: 1, do: 'refund', of: 0, back: 0, withTime: false, faults: ['answer lost'] },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 5, on: 0, do: 'reset', of: 0 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))

  it('a local window that a denial has opened ends before one that the next admitted unit would open', () =>
    replay({
      seed: 436_894,
      policies: [
        { name: 'fixed', algorithm: 'fixed-window', limit: 50, window: '1s', consistency: 'leased' },
        {
          name: 'anchored',
          algorithm: 'anchored-window',
          limit: 5,
          window: '3s',
          consistency: 'eventual',
          syncMs: 1000,
        },
      ],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 1951, on: 0, do: 'outage', ms: 20_000 },
        { after: 2999, on: 0, do: 'take', of: 0, cost: 2 },
        { after: 187, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 2954, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 3, on: 0, do: 'take', of: 0, cost: 1, times: 3 },
      ],
    }))

  it('units are refunded to a window that ends while the refund is under way', () =>
    replay({
      seed: 635_155,
      policies: [
        { name: 'anchored', algorithm: 'anchored-window', limit: 2, window: '1s' },
        { name: 'leaky', algorithm: 'leaky-bucket', limit: 1, window: '1s', burst: 4 },
      ],
      instances: [{ skewMs: -500 }, { skewMs: 1500 }, { skewMs: 0 }],
      steps: [
        { after: 60_181, on: 1, do: 'clock', skewMs: 0 },
        { after: 8, on: 0, do: 'take', of: 0, cost: 2 },
        { after: 1094, on: 1, do: 'take', of: 0, cost: 1 },
        { after: 1000, on: 2, do: 'refund', of: 0, back: 0, withTime: false },
        { after: 357, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 1, on: 0, do: 'take', of: 0, cost: 1 },
      ],
      denialTtlMs: 1000,
    }))

  it('units of a local count that were refunded may be admitted again', () =>
    replay({
      seed: 797_062,
      policies: [{ name: 'leaky', algorithm: 'leaky-bucket', limit: 3, window: '1s', burst: 4 }],
      instances: [{ skewMs: 1 }],
      steps: [
        { after: 759, on: 0, do: 'take', of: 0, cost: 1, times: 3 },
        { after: 685, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 3926, on: 0, do: 'outage', ms: 20_000 },
        { after: 10_744, on: 0, do: 'take', of: 0, cost: 2 },
        { after: 7, on: 0, do: 'refund', of: 0, back: 1, withTime: false },
        { after: 3, on: 0, do: 'take', of: 0, cost: 1 },
      ],
      denialTtlMs: 0,
    }))

  it('a charge whose guard followed a guess at the state locks nobody out', () =>
    replay({
      seed: 1,
      policies: [
        { name: 'leaky', algorithm: 'leaky-bucket', limit: 1, window: '1s', burst: 2, blockFor: '2s' },
        { name: 'log', algorithm: 'sliding-log', limit: 1, window: '1s' },
      ],
      instances: [{ skewMs: 1500 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1, times: 2 },
        { after: 0, on: 1, do: 'take', of: 0, cost: 1 },
        { after: 2999, on: 1, do: 'take', of: 0, cost: 1 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 0, on: 0, do: 'refund', of: 0, back: 0, withTime: false },
      ],
    }))

  it('units that were reserved before a reset are not given back after it, if one reserves late that was decided before', () =>
    replay({
      seed: 1,
      policies: [{ name: 'fixed', algorithm: 'fixed-window', limit: 5, window: '1m' }],
      instances: [{ skewMs: 0 }, { skewMs: 0 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'takeAll', of: [0, 1], cost: 2, reserve: 600_000 },
        { after: 0, on: 1, do: 'takeAll', of: [2, 1], cost: 1, reserve: 600_000, faults: ['ok', 'arrives late'] },
        { after: 300, on: 2, do: 'reset', of: 1 },
        { after: 300, on: 0, do: 'settle', of: 0, back: 0, used: 0 },
        { after: 100, on: 1, do: 'take', of: 1, cost: 1 },
      ],
      denialTtlMs: 1000,
    }))
})
