import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../tools/format-markdown'
import { Session } from './command'
import { buildProgram } from './program'
import { reference } from './reference'
import { processIo } from './terminal/io'

const page = reference(buildProgram(new Session(processIo(), '')))
writeFileSync(join(__dirname, '..', 'docs', 'cli.md'), formatMarkdown(page))
