import { render } from "preact"
import "./style/tokens.css"
import "./style/base.css"
import "./style/parts.css"
import "./style/shell.css"
import { App } from "./app.js"
import { followLanguage } from "./i18n.js"
import { followLinks, openSession } from "./session.js"
import { followTheme } from "./theme.js"

followTheme()
followLanguage()
followLinks()
void openSession()
render(<App />, document.getElementById("app") as HTMLElement)
