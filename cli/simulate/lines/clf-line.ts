import type { Parse, ToRequest } from './to-request'

/** `ip ident user [time] "request" status bytes`, and what the Combined Log Format and others have behind it. */
const LINE = /^(\S+) (\S+) (.+?) \[([^\]]{1,64})\] "((?:[^"\\]|\\.)*)" (\S+) (\S+)(?: |$)/

/** Whether a line looks like the Common Log Format. */
export const isClf = (text: string): boolean => LINE.test(text)

/** Reads a line of the Common or Combined Log Format. Its fields have the names `ip`, `ident`, `user`, `time`, … */
export function clfLine(toRequest: ToRequest): Parse {
  return (text) => {
    const found = LINE.exec(text)
    if (!found) return 'it is not in the Common Log Format'
    const [, ip, ident, user, time, request, status, bytes] = found
    return toRequest((name) => {
      switch (name) {
        case 'ip':
          return ip
        case 'ident':
          return ident
        case 'user':
          return user
        case 'time':
          return time
        case 'request':
          return request
        case 'status':
          return status
        case 'bytes':
          return bytes
        default:
          return undefined
      }
    })
  }
}
