type Fields = Readonly<Record<string, unknown>>

const UNITS = ['Count', 'Milliseconds']
const MAX_BYTES = 256 * 1024

/**
 * The rules of the embedded metric format that a line breaks; none for one without metrics, if it is JSON.
 *
 * @see
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_Dimension.html values of dimensions
 */
export function brokenRules(line: string): string[] {
  const broken: string[] = []
  const rule = (holds: boolean, sentence: string) => void (holds || broken.push(sentence))
  const root = JSON.parse(line) as Fields
  rule(!/[\r\n]/.test(line), 'an entry is one line')
  rule(Buffer.byteLength(line) <= MAX_BYTES, 'an entry has at most 256 KB')
  if (!('_aws' in root)) return broken

  const { Timestamp, CloudWatchMetrics } = root._aws as Fields
  rule(Number.isInteger(Timestamp) && (Timestamp as number) > 0, 'the timestamp is in milliseconds')
  rule(Array.isArray(CloudWatchMetrics) && CloudWatchMetrics.length > 0, 'there are directives')
  for (const { Namespace, Dimensions, Metrics, ...more } of CloudWatchMetrics as Fields[]) {
    rule(Object.keys(more).length === 0, 'a directive has no other members')
    rule(typeof Namespace === 'string' && /^[\w.\-/#]{1,255}$/.test(Namespace), 'a namespace is 1 to 255 characters')
    const sets = Dimensions as string[][]
    rule(sets.length > 0, 'there is a set of dimensions')
    for (const set of sets) {
      rule(set.length <= 30, 'a set has at most 30 dimensions')
      for (const name of set) {
        const value = root[name]
        const fits = typeof value === 'string' && /^[!-9;-~][ -~]{0,1023}$/.test(value)
        rule(fits, `the dimension ${name} is a member of the root, of 1 to 1,024 characters`)
      }
    }
    const metrics = Metrics as Fields[]
    rule(metrics.length > 0 && metrics.length <= 100, 'a directive has 1 to 100 metrics')
    rule(new Set(metrics.map(({ Name }) => Name)).size === metrics.length, 'a metric is named once')
    for (const { Name, Unit } of metrics) {
      const values = [root[Name as string]].flat()
      rule(UNITS.includes(Unit as string), 'a unit is one of those of CloudWatch that are used here')
      rule(values.length > 0 && values.length <= 100, `${Name} has 1 to 100 values`)
      rule(values.every(Number.isFinite), `the values of ${Name} are numbers`)
    }
  }
  return broken
}

/** What CloudWatch would have under each name, in total and by dimensions: `Denied`, `Denied free per-minute`. */
export function extracted(lines: readonly string[]): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const line of lines) {
    const root = JSON.parse(line)
    for (const { Dimensions, Metrics } of root._aws?.CloudWatchMetrics ?? []) {
      for (const { Name } of Metrics) {
        for (const set of Dimensions as string[][]) {
          const series = [Name, ...set.map((name) => root[name])].join(' ')
          found.set(series, [...(found.get(series) ?? []), ...[root[Name]].flat()])
        }
      }
    }
  }
  return found
}

/** The sum of each series. */
export const sums = (lines: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    [...extracted(lines)].map(([series, values]) => [series, values.reduce((sum, value) => sum + value, 0)]),
  )
