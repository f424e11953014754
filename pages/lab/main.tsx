import '../shared/theme.css'
import { render } from 'preact'

render(<h1>Sluice: the lab</h1>, document.getElementById('app')!)
