import { ConfigError, Mistake, printed } from '../../limiter/errors'

/** @throws ConfigError for statuses that no response has. */
export function checkStatuses(statuses: readonly number[], path: string): void {
  const wrong = statuses.filter((status) => !Number.isInteger(status) || status < 200 || status > 599)
  if (wrong.length > 0)
    throw new ConfigError(
      wrong.map(
        (status) =>
          new Mistake(
            'invalid_value',
            `mapStatuses must be integers from 200 to 599, got ${printed(status)} (${path})`,
          ),
      ),
    )
}
