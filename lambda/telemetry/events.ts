/**
 * Every line that the authorizer logs: its `event`, on which queries, metric filters and alarms may rely, and a
 * sentence for people, which may change. docs/observability.md lists the events.
 */
export const EVENTS = {
  request_denied: 'request denied',
  request_observed: 'request allowed: its limit only observes',
  request_overrun: 'request allowed within the overrun',
  request_deprioritized: 'request allowed with low priority',
  limit_nearing: 'caller nears a limit',
  request_answered: 'request answered',
  decision_without_store: 'decision made without the state table',
  decision_failed: 'request could not be decided',
  identity_unverifiable: 'callers cannot be verified',
  identity_unavailable: 'credentials cannot be checked',
  upstream_unavailable: 'upstream authorizer unavailable',
  circuit_opened: 'circuit breaker opened: the state table keeps failing',
  circuit_closed: 'circuit breaker closed',
  clock_skewed: "system clock is wrong; the table's is used",
  clock_recovered: 'system clock is right again',
  config_table_unreadable: 'config table cannot be read',
  config_item_invalid: 'invalid; the last valid version stays in force',
  config_items_conflict: 'config items contradict each other',
  client_unreadable: 'client cannot be looked up',
  client_invalid: 'client item is invalid',
  client_overrides_invalid: "client's overrides do not fit its policies",
  state_collision: 'two policies would share their state',
  last_valid_used: 'policy set is too large; the last valid one is in force',
  last_valid_unreadable: 'last valid policy set cannot be read',
  last_valid_unwritable: 'last valid policy set cannot be written',
  hmac_key_unreadable: 'secrets cannot be read',
  hmac_key_missing: 'HMAC key was deleted',
  signing_key_missing: 'signing key was deleted',
} as const

export type LogEvent = keyof typeof EVENTS
