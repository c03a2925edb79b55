import { useEffect, useMemo, useState } from "preact/hooks"
import { locale, t } from "../../browser/i18n.js"
import { href, route } from "../../browser/router.js"
import { PageHead, Panel } from "../../parts/panel.js"
import "./page.css"
import { ShapeChoice, TermsChoice, VariantChoice } from "./choices.js"
import { Numbers } from "./numbers.js"
import { addressOf, type Setting, settingFrom } from "./setting.js"
import { simulate } from "./simulate.js"
import { Sketch } from "./sketch.js"
import { calendarNote, limitText, texts } from "./texts.js"
import { TimeLine } from "./time-line.js"
import { arrivalsOf, ceilingOf, SLOTS, spanOf } from "./traffic.js"
import { VARIANTS } from "./variants.js"

export function Page() {
  const text = t(texts)
  const [setting, setSetting] = useState<Setting>(() => settingFrom(route.value.query))
  const [chosen, setChosen] = useState(() => VARIANTS.filter(({ shownFirst }) => shownFirst))
  const { terms, counts, shape } = setting

  // The address holds the setting, so that it can be shared. It replaces the entry in the history of the browser.
  useEffect(() => {
    history.replaceState(null, "", href("playground", [], addressOf(setting)))
  }, [setting])

  const runs = useMemo(() => {
    const arrivals = arrivalsOf(counts, spanOf(terms))
    return chosen.map((variant) => ({ variant, outcome: simulate(variant, terms, arrivals) }))
  }, [counts, terms, chosen])

  const note = calendarNote(text, terms) ?? (shape === "boundary" && text.boundaryNote(terms.limit))
  const asked = counts.reduce((sum, count) => sum + count, 0)
  const draw = (drawn: number[]) => setSetting({ ...setting, counts: drawn, shape: "drawn" })
  const clear = () => draw(new Array<number>(SLOTS).fill(0))
  return (
    <div class="playground">
      <PageHead title={text.title} lead={text.lead} />
      <Panel
        title={text.traffic}
        note={(terms.calendar === undefined ? text.total : text.totalInWindows)(
          asked.toLocaleString(locale()),
        )}
        actions={<TermsChoice setting={setting} onChange={setSetting} onClear={clear} text={text} />}
      >
        <ShapeChoice setting={setting} onChange={setSetting} text={text} />
        <Sketch counts={counts} terms={terms} max={ceilingOf(terms)} onDraw={draw} text={text} />
        {note && <p class="playground-note">{note}</p>}
      </Panel>
      <Panel title={text.timeLine} note={limitText(text, terms)}>
        <VariantChoice chosen={chosen} onChange={setChosen} text={text} />
        <TimeLine runs={runs} terms={terms} text={text} />
      </Panel>
      <Panel title={text.numbers}>
        <Numbers runs={runs} terms={terms} text={text} />
      </Panel>
    </div>
  )
}
