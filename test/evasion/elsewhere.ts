/** An attack that is on what is deployed and not on the authorizer, so that no request shows it: a test does. */
export interface Elsewhere {
  readonly tried: string
  readonly now: string
  /** The file, and the title of a test in it. */
  readonly test: readonly [file: string, title: string]
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    tried: '`attach --replace --yes` on methods with Cognito’s scopes or IAM',
    now: 'refused without `--open`',
    test: [
      'test/attach/authentication.test.ts',
      'removes authentication from no method of a $kind API by --yes alone, and says which would lose it and why',
    ],
  },
  {
    tried: 'a method gets an authorizer while attach asks',
    now: 'read again just before the change',
    test: ['test/attach/interleaved.test.ts', 'keeps the edit in attach and in the detach after it, when somebody %s'],
  },
  {
    tried: 'a method gets `AWS_IAM` after attach',
    now: 'status reports it, detach leaves it',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, which changes nothing, when somebody %s'],
  },
  {
    tried: 'a canary after attach',
    now: 'detach waits for its end',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, and detach refuses until it ends'],
  },
  {
    tried: 'policies whose state outgrows an item, to open the circuit for all',
    now: 'refused when checked',
    test: ['test/config-table/storage.test.ts', 'is bounded by the size of an item, over all policies of a limiter'],
  },
  {
    tried: 'an item that cannot be written',
    now: 'only its caller is denied',
    test: [
      'test/limiter/one-item.test.ts',
      'does not change the reason why the circuit breaker is open, so other subjects are not denied for it',
    ],
  },
  {
    tried: 'over 5,000 items, or an invalid item, at a new instance',
    now: 'the last valid version',
    test: [
      'test/config-table/last-valid.test.ts',
      'is all that is in force on a new instance while the set has too many items, and the old instances keep what they had',
    ],
  },
  {
    tried: 'made-up `kid`s without end',
    now: 'a few readings a minute',
    test: [
      'test/identity/jwt-verifier.test.ts',
      'are fetched a few times a minute at most, however many key ids are made up',
    ],
  },
  {
    tried: 'a token behind thousands of spaces',
    now: 'less than a millisecond',
    test: ['test/identity/jwt-claims.test.ts', 'is found at once behind thousands of spaces, whatever follows them'],
  },
  {
    tried: 'another caller’s cached upstream answer, by headers split elsewhere',
    now: 'not possible',
    test: [
      'test/upstream/upstream-authorizer.test.ts',
      'for two headers is not reused where the same text is split differently between them',
    ],
  },
  {
    tried: 'an upstream context with `allowed`, `tier` or `subject`',
    now: 'Sluice’s own keys win',
    test: [
      'test/authorize/upstream.test.ts',
      'reaches a REST API: principal, policy, usage key, context; Sluice’s own keys win',
    ],
  },
  {
    tried: 'names that break out of the JSON of a 429',
    now: 'always valid JSON',
    test: ['test/responses/gateway-response.test.ts', 'the body is JSON whatever the names'],
  },
  {
    tried: 'clients or other tables, by the role of the seed function',
    now: 'tiers and routes only',
    test: [
      'test/lib/seed.test.ts',
      'may read and write tiers and routes, and nothing else: not clients, nor anything in another table',
    ],
  },
  {
    tried: 'more than its calls, by the role of the authorizer',
    now: 'not possible',
    test: ['test/lib/rate-limiter.test.ts', 'may make its own calls on each table, write its log, and nothing else'],
  },
  {
    tried: 'a package that was not reviewed',
    now: 'the lockfile has hashes',
    test: [
      'test/lib/lockfile.test.ts',
      'every entry has the hash of its tarball, except bundled packages and tools for other platforms',
    ],
  },
  {
    tried: 'bundles without their packages’ notices',
    now: 'in the bundle',
    test: ['test/lib/third-party-notices.test.ts', 'comes with version and license of each package in it'],
  },
  {
    tried: 'DNS rebinding to `sluice dev --backend`',
    now: 'refused, unless `--allow-host` names it',
    test: [
      'test/local/proxy-backend.test.ts',
      'a page whose name leads here (DNS rebinding), in any spelling of the name or the target',
    ],
  },
  {
    tried: '`X_Sluice_Tier`, which CGI reads as `X-Sluice-Tier`',
    now: 'dropped, in every spelling',
    test: [
      'test/local/proxy-backend.test.ts',
      'whatever a client sends, a server that reads `_` or any other character as `-` finds what the gateway set',
    ],
  },
  {
    tried: 'names with line breaks, colours or direction marks, to forge a report',
    now: 'escaped as in JSON',
    test: ['test/cli/hostile-names.test.ts', 'simulate prints as many lines, in the same colours: %s'],
  },
  {
    tried: 'a key under another prefix of `ExpressRateLimitStore`',
    now: 'counted apart',
    test: [
      'test/middleware/express-rate-limit.test.ts',
      'no key under a prefix counts under another, in any division of the same text',
    ],
  },
  {
    tried: '`/EXPORT` or `/%65xport` at a framework’s route',
    now: 'its middleware charges it',
    test: [
      'test/docs/routes.test.ts',
      'whatever spelling of its path reaches a route of the guide costs what the route says',
    ],
  },
  {
    tried: 'a name that a spreadsheet runs as a formula',
    now: 'an apostrophe precedes it',
    test: [
      'test/cli/clients-file.test.ts',
      'no cell begins as a formula does, whatever that cannot be seen stands before it',
    ],
  },
]
