import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../tools/format-markdown'
import { Session } from './command'
import { processIo } from './io'
import { buildProgram } from './program'
import { reference } from './reference'

const page = reference(buildProgram(new Session(processIo(), '')))
writeFileSync(join(__dirname, '..', 'docs', 'cli.md'), formatMarkdown(page))
