import { section, writtenSection } from '../evasion/report'

test('docs/attacks.md has the attacks of today’s table', () => {
  expect(writtenSection()).toBe(section()) // npm run docs:security
})
