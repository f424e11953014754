/** How long a request waits. */
export interface WaitLimits {
  /**
   * The longest wait, in milliseconds, for units and for a queue's slot; a decision that is under way then is waited
   * for, and so is `lagMs`. 0 asks once. @default as long as it takes
   */
  readonly maxWaitMs?: number
  /**
   * Resolves so many milliseconds after the charge, 1 to 60,000, so that calls leave as they were spaced when they were
   * counted, however long the store took to answer. An answer that comes later than that, by more than a quarter and
   * 5 ms, is not used: the request gives it back and waits for its next turn. Only for policies that space calls:
   * `sliding-log`, a leaky bucket as a queue, and buckets and `gcra` with `burst: 1`.
   * @default as soon as the store has answered
   */
  readonly lagMs?: number
  /** Ends the wait: the promise is rejected with its `reason`. @default nothing does */
  readonly signal?: AbortSignal
}
