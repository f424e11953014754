/** An attack that is on what is deployed and not on the authorizer, so that no request shows it: a test does. */
export interface Elsewhere {
  readonly tried: string
  /** What came of it at commit 524c9d4, or when it was first looked for. */
  readonly before: string
  readonly now: string
  /** The file, and the title of a test in it. */
  readonly test: readonly [file: string, title: string]
}

export const ELSEWHERE: readonly Elsewhere[] = [
  {
    tried: '`attach --replace --yes` on methods locked by Cognito’s scopes or IAM',
    before: 'open to anonymous callers',
    now: 'refused, unless `--open` names the method',
    test: [
      'test/attach/authentication.test.ts',
      'removes authentication from no method of a $kind API by --yes alone, and says which would lose it and why',
    ],
  },
  {
    tried: 'somebody locks a method while attach asks its question',
    before: 'overwritten, and `NONE` after detach',
    now: 'each method is read again just before it is changed',
    test: ['test/attach/interleaved.test.ts', 'keeps the edit in attach and in the detach after it, when somebody %s'],
  },
  {
    tried: 'a method is set to `AWS_IAM` after attach',
    before: 'not reported by status, opened by detach',
    now: 'reported by status, left alone by detach',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, which changes nothing, when somebody %s'],
  },
  {
    tried: 'a canary that is started after attach',
    before: 'not seen by detach',
    now: 'detach waits for its end',
    test: ['test/attach/interleaved.test.ts', 'is reported by status, and detach refuses until it ends'],
  },
  {
    tried: 'five logs of one caller that outgrow an item, so that the circuit opens for all',
    before: 'accepted; 30 of 30 of another client degraded',
    now: 'refused where policies are checked',
    test: ['test/config-table/storage.test.ts', 'is bounded by the size of an item, over all policies of a limiter'],
  },
  {
    tried: 'an item that cannot be written all the same',
    before: 'counted as a failure of the table',
    now: 'only its caller is denied',
    test: [
      'test/limiter/one-item.test.ts',
      'does not change the reason why the circuit breaker is open, so other subjects are not denied for it',
    ],
  },
  {
    tried: 'a policy set of more than 5,000 items, or an invalid item, at a new instance',
    before: 'limits off',
    now: 'the last valid version is in force',
    test: [
      'test/config-table/last-valid.test.ts',
      'is all that is in force on a new instance while the set has too many items, and the old instances keep what they had',
    ],
  },
  {
    tried: 'one issuer asked for keys by `kid`s made up without end',
    before: 'a few readings a minute',
    now: 'a few readings a minute',
    test: [
      'test/identity/jwt-verifier.test.ts',
      'are fetched a few times a minute at most, however many key ids are made up',
    ],
  },
  {
    tried: 'a token behind thousands of spaces and a line break, to keep an instance busy',
    before: '140 ms for each request',
    now: 'less than one',
    test: ['test/identity/jwt-claims.test.ts', 'is found at once behind thousands of spaces, whatever follows them'],
  },
  {
    tried: 'one caller’s answer of the upstream authorizer given to another, by headers that are cut elsewhere',
    before: 'not possible',
    now: 'not possible',
    test: [
      'test/upstream/upstream-authorizer.test.ts',
      'for two headers is not reused where the same text is split differently between them',
    ],
  },
  {
    tried: 'an upstream authorizer’s context that says `allowed`, `tier` or `subject`',
    before: 'not believed',
    now: 'Sluice has the last word',
    test: [
      'test/authorize/upstream.test.ts',
      'reaches a REST API: principal, policy, usage key, context; Sluice’s own keys win',
    ],
  },
  {
    tried: 'names that break out of the JSON of a 429',
    before: 'not possible',
    now: 'JSON whatever the names',
    test: ['test/responses/gateway-response.test.ts', 'the body is JSON whatever the names'],
  },
  {
    tried: 'clients or other tables, by the role of the seed function',
    before: 'without a condition for requests that name no key',
    now: 'tiers and routes only',
    test: [
      'test/lib/seed.test.ts',
      'may read and write tiers and routes, and nothing else: not clients, nor anything in another table',
    ],
  },
  {
    tried: 'anything but items of its tables, by the role of the authorizer',
    before: 'not possible',
    now: 'what its code calls, and nothing else',
    test: ['test/lib/rate-limiter.test.ts', 'may make its own calls on each table, write its log, and nothing else'],
  },
  {
    tried: 'a package in the lockfile that is not what was reviewed',
    before: 'some entries without a hash',
    now: 'every entry that can have one has a hash',
    test: [
      'test/lib/lockfile.test.ts',
      'every entry has the hash of its tarball, except bundled packages and tools for other platforms',
    ],
  },
  {
    tried: 'bundles without the notices of what is in them',
    before: 'missing',
    now: 'beside the code',
    test: ['test/lib/third-party-notices.test.ts', 'comes with version and license of each package in it'],
  },
  {
    tried: 'a page whose name leads to `sluice dev --backend`, past the server’s own check of `Host` (DNS rebinding)',
    before: 'reached the server under the server’s own name',
    now: 'refused, unless `--allow-host` names it',
    test: [
      'test/local/proxy-backend.test.ts',
      'a page whose name leads here (DNS rebinding), in any spelling of the name or the target',
    ],
  },
  {
    tried: '`X_Sluice_Tier`, which a CGI or WSGI server behind `sluice dev` reads as `X-Sluice-Tier`',
    before: 'the client’s tier',
    now: 'dropped, in every spelling',
    test: [
      'test/local/proxy-backend.test.ts',
      'whatever a client sends, a server that reads `_` or any other character as `-` finds what the gateway set',
    ],
  },
  {
    tried: 'a user name with line breaks, colours or direction marks, to forge or hide a row of a report',
    before: 'printed as it is',
    now: 'one line, and escaped as in JSON',
    test: ['test/cli/hostile-names.test.ts', 'simulate prints as many lines, in the same colours: %s'],
  },
  {
    tried:
      'a key that counts under another prefix of `ExpressRateLimitStore`: `ip:X` under `login:`, `X` under `login:ip:`',
    before: 'one count',
    now: 'a count for each',
    test: [
      'test/middleware/express-rate-limit.test.ts',
      'no key under a prefix counts under another, in any division of the same text',
    ],
  },
  {
    tried: '`/EXPORT`, `/export/` or `/%65xport` at a route of a framework that costs more',
    before: 'the guide’s snippet charged 1 unit',
    now: 'the route’s own middleware charges it',
    test: [
      'test/docs/routes.test.ts',
      'whatever spelling of its path reaches a route of the guide costs what the route says',
    ],
  },
  {
    tried: 'a client’s name that a spreadsheet runs as a formula, behind a space, a line break or a byte order mark',
    before: 'exported as it is',
    now: 'an apostrophe stands before it',
    test: [
      'test/cli/clients-file.test.ts',
      'no cell begins as a formula does, whatever that cannot be seen stands before it',
    ],
  },
]
