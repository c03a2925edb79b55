import { useState } from "preact/hooks"
import { t } from "../browser/i18n.js"
import { Button } from "../parts/button.js"
import { Field } from "../parts/field.js"
import { signIn, startSession } from "../service/session.js"
import { LanguageChoice, ThemeChoice } from "./nav.js"
import { texts } from "./texts.js"

export function SignIn({ why }: { readonly why: "needed" | "refused" | "limited" | "unreachable" }) {
  const text = t(texts).signIn
  const [given, setGiven] = useState("")
  const [busy, setBusy] = useState(false)
  const run = async (step: () => Promise<void>) => {
    setBusy(true)
    await step()
    setBusy(false)
  }
  return (
    <main class="sign-in">
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy && given !== "") void run(() => signIn(given.trim()))
        }}
      >
        <h1>{text.title}</h1>
        {why === "unreachable" ? (
          <>
            <p role="alert">{text.unreachable}</p>
            <Button kind="primary" busy={busy} onClick={() => void run(startSession)}>
              {text.retry}
            </Button>
          </>
        ) : (
          <>
            <p class="lead">{text.lead}</p>
            <Field label={text.token} error={why === "needed" ? undefined : text[why]}>
              {(attributes) => (
                <input
                  {...attributes}
                  type="password"
                  autocomplete="off"
                  spellcheck={false}
                  required
                  value={given}
                  onInput={({ currentTarget }) => setGiven(currentTarget.value)}
                />
              )}
            </Field>
            <Button kind="primary" submit busy={busy}>
              {text.submit}
            </Button>
            <p class="soft">{text.where}</p>
          </>
        )}
        <div class="choices">
          <ThemeChoice />
          <LanguageChoice />
        </div>
      </form>
    </main>
  )
}
