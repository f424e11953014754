/** An attack that is on what is deployed and not on the authorizer, so that no request shows it: a test does. */
export interface Elsewhere {
  readonly tried: string
  readonly now: string
  /** The file, and the title of a test in it. */
  readonly test: readonly [file: string, title: string]
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    tried: '`attach --replace --yes` on methods locked by Cognito’s scopes or IAM',
    now: 'refused, unless `--open` names the method',
    test: [
      'test/attach/authentication.test.ts',
      'removes authentication from no method of a $kind API by --yes alone, and says which would lose it and why',
    ],
  },
  {
    tried: 'a method is locked while attach waits for confirmation',
    now: 'each method is read again just before it is changed',
    test: ['test/attach/interleaved.test.ts', 'keeps the edit in attach and in the detach after it, when somebody %s'],
  },
  {
    tried: 'a method is set to `AWS_IAM` after attach',
    now: 'reported by status, left alone by detach',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, which changes nothing, when somebody %s'],
  },
  {
    tried: 'a canary that is started after attach',
    now: 'detach waits for its end',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, and detach refuses until it ends'],
  },
  {
    tried: 'five logs of one caller that outgrow an item, to open the circuit for all',
    now: 'refused where policies are checked',
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
    tried: 'a policy set of more than 5,000 items, or an invalid item, at a new instance',
    now: 'the last valid version is in force',
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
    tried: 'a token behind thousands of spaces and a line break, to keep an instance busy',
    now: 'less than a millisecond for each request',
    test: ['test/identity/jwt-claims.test.ts', 'is found at once behind thousands of spaces, whatever follows them'],
  },
  {
    tried: 'another caller’s cached answer of the upstream authorizer, by headers that are divided elsewhere',
    now: 'not possible',
    test: [
      'test/upstream/upstream-authorizer.test.ts',
      'for two headers is not reused where the same text is split differently between them',
    ],
  },
  {
    tried: 'an upstream authorizer’s context that says `allowed`, `tier` or `subject`',
    now: 'Sluice’s own keys win',
    test: [
      'test/authorize/upstream.test.ts',
      'reaches a REST API: principal, policy, usage key, context; Sluice’s own keys win',
    ],
  },
  {
    tried: 'names that break out of the JSON of a 429',
    now: 'not possible: valid JSON whatever the names',
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
    tried: 'a package that is not what was reviewed',
    now: 'every entry of the lockfile that can have a hash has one',
    test: [
      'test/lib/lockfile.test.ts',
      'every entry has the hash of its tarball, except bundled packages and tools for other platforms',
    ],
  },
  {
    tried: 'bundles without the notices of their packages',
    now: 'in the bundle, beside the code',
    test: ['test/lib/third-party-notices.test.ts', 'comes with version and license of each package in it'],
  },
  {
    tried: 'a page whose name leads to `sluice dev --backend` (DNS rebinding)',
    now: 'refused, unless `--allow-host` names it',
    test: [
      'test/local/proxy-backend.test.ts',
      'a page whose name leads here (DNS rebinding), in any spelling of the name or the target',
    ],
  },
  {
    tried: '`X_Sluice_Tier`, which a CGI or WSGI server behind `sluice dev` reads as `X-Sluice-Tier`',
    now: 'dropped, in every spelling',
    test: [
      'test/local/proxy-backend.test.ts',
      'whatever a client sends, a server that reads `_` or any other character as `-` finds what the gateway set',
    ],
  },
  {
    tried: 'a user name with line breaks, colours or direction marks, to forge a row of a report',
    now: 'one line, and escaped as in JSON',
    test: ['test/cli/hostile-names.test.ts', 'simulate prints as many lines, in the same colours: %s'],
  },
  {
    tried:
      'a key that counts under another prefix of `ExpressRateLimitStore`: `ip:X` under `login:`, `X` under `login:ip:`',
    now: 'a count for each',
    test: [
      'test/middleware/express-rate-limit.test.ts',
      'no key under a prefix counts under another, in any division of the same text',
    ],
  },
  {
    tried: '`/EXPORT`, `/export/` or `/%65xport` at a route of a framework that costs more',
    now: 'the route’s own middleware charges it',
    test: [
      'test/docs/routes.test.ts',
      'whatever spelling of its path reaches a route of the guide costs what the route says',
    ],
  },
  {
    tried: 'a client’s name that a spreadsheet runs as a formula, behind a space, a line break or a byte order mark',
    now: 'an apostrophe stands before it',
    test: [
      'test/cli/clients-file.test.ts',
      'no cell begins as a formula does, whatever that cannot be seen stands before it',
    ],
  },
]
