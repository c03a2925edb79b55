import { useEffect, useRef } from "preact/hooks"
import { chooseLanguage, LANGUAGES, language, t } from "../browser/i18n.js"
import { href, PAGES, type PageName, route } from "../browser/router.js"
import { THEMES, type Theme, theme } from "../browser/theme.js"
import { Icon } from "../parts/icon.js"
import { connection } from "../service/live.js"
import { session, signOut } from "../service/session.js"
import { texts } from "./texts.js"

const LANGUAGE_NAMES = { en: "English", zh: "简体中文" }

export function Nav() {
  const text = t(texts)
  return (
    <header class="nav">
      <a class="brand" href={href("overview")}>
        <span class="mark" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
        Sluice
      </a>
      <nav aria-label={text.nav}>
        <ul>
          {PAGES.map((page) => (
            <li key={page}>
              <PageLink page={page} />
            </li>
          ))}
        </ul>
      </nav>
      <div class="nav-foot">
        <ConnectionState />
        <Who />
        <div class="choices">
          <ThemeChoice />
          <LanguageChoice />
          <a class="api-link" href="docs" target="_blank" rel="noreferrer">
            {text.docs}
          </a>
        </div>
      </div>
    </header>
  )
}

function PageLink({ page }: { readonly page: PageName }) {
  const link = useRef<HTMLAnchorElement>(null)
  const isCurrent = route.value.page === page
  // On a phone the links are in one row that scrolls.
  useEffect(() => {
    if (isCurrent) link.current?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [isCurrent])
  return (
    <a ref={link} href={href(page)} aria-current={isCurrent ? "page" : undefined}>
      <Icon name={page} />
      {t(texts).pages[page].title}
    </a>
  )
}

function ConnectionState() {
  return (
    <p class={`connection ${connection.value}`} role="status">
      <span class="dot" aria-hidden="true" />
      {t(texts)[connection.value]}
    </p>
  )
}

function Who() {
  const text = t(texts)
  if (session.value === undefined) return null
  const { name, role, byToken } = session.value
  return (
    <p class="who">
      <span class="who-name">{byToken ? name : text.local}</span>
      <span class="who-role">{text.roles[role]}</span>
      {byToken && (
        <button
          type="button"
          class="button quiet icon-only small"
          aria-label={text.signOut}
          title={text.signOut}
          onClick={() => signOut()}
        >
          <Icon name="out" />
        </button>
      )}
    </p>
  )
}

/** A button that switches from system to light to dark, and back to system. */
export function ThemeChoice() {
  const text = t(texts)
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme
  const label = `${text.theme}: ${text.themes[theme.value]}`
  return (
    <button
      type="button"
      class="button quiet icon-only small"
      aria-label={label}
      title={label}
      onClick={() => {
        theme.value = next
      }}
    >
      <Icon name={theme.value} />
    </button>
  )
}

export function LanguageChoice() {
  return (
    <select
      class="small"
      aria-label={t(texts).language}
      value={language.value}
      onChange={({ currentTarget }) => chooseLanguage(currentTarget.value as keyof typeof LANGUAGE_NAMES)}
    >
      {LANGUAGES.map((name) => (
        <option key={name} value={name} lang={name === "zh" ? "zh-Hans" : name}>
          {LANGUAGE_NAMES[name]}
        </option>
      ))}
    </select>
  )
}
