import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMarkdown } from '../tools/format-markdown'
import { apiReference } from './api-reference'

writeFileSync(join(__dirname, '..', 'docs', 'api.md'), formatMarkdown(apiReference()))
