import { render } from "preact"
import "./style/tokens.css"
import "./style/base.css"
import "./style/parts.css"
import "./style/shell.css"
import { App } from "./app.js"
import { followLanguage } from "./i18n.js"
import { followLinks, startSession } from "./session.js"
import { followTheme } from "./theme.js"

followTheme()
followLanguage()
followLinks()
void startSession()
render(<App />, document.getElementById("app") as HTMLElement)
