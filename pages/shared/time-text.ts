/** `0 s`, `0.4 s`, `36 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`: rounded up, so that nobody comes too early. */
export function durationText(ms: number): string {
  if (ms <= 0) return '0 s'
  if (ms < 950) return `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return withRest(minutes, 'min', seconds % 60, 's')
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? withRest(hours, 'h', minutes % 60, 'min') : withRest(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

const withRest = (whole: number, unit: string, rest: number, smaller: string): string =>
  rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${smaller}`

/** `10:57:12` of this machine's clock. */
export const clockText = (at: number): string => new Date(at).toTimeString().slice(0, 8)

/** `1 unit`, `2 units`. */
export const counted = (n: number, word: string): string => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`
