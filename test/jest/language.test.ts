import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(__dirname, '..', '..')
const FOLDERS =
  'backend bench cli lambda lib limiter local middleware pages provisioning tiered tools test/algorithms test/model'

/** Calls that use the language of the machine unless they name another. */
const BY_LANGUAGE =
  /\.localeCompare\([^(),]*(?:\([^()]*\))?\)|\.toLocale\w*String\(\)|\.toLocale(?:Lower|Upper)Case\(|Intl\.\w+\(\)/g

it('nothing sorts or formats by the language of the machine', () => {
  expect('a.localeCompare(b) n.toLocaleString() String(a).localeCompare(String(b))'.match(BY_LANGUAGE)).toHaveLength(3)
  expect("a.localeCompare(b, 'en') n.toLocaleString('en')").not.toMatch(BY_LANGUAGE)
  const found = FOLDERS.split(' ').flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !file.includes('node_modules'))
      .flatMap((file) => readFileSync(join(ROOT, folder, file), 'utf8').match(BY_LANGUAGE) ?? []),
  )
  expect(found).toEqual([])
})
