// The language of the page. A texts.ts has its texts in every language: a missing translation does not compile.

import { effect, signal } from "@preact/signals"
import { keep, kept } from "./kept.js"

export const LANGUAGES = ["en", "zh"] as const
export type Language = (typeof LANGUAGES)[number]

/** The same texts in each language. */
export type Texts<Text> = Readonly<Record<Language, Text>>

export const language = signal<Language>(kept("language", LANGUAGES) ?? preferred())

/** The texts in the current language. A component that calls it is drawn again when the language changes. */
export function t<Text>(texts: Texts<Text>): Text {
  return texts[language.value]
}

/** The locale for numbers and dates. */
export function locale(): string {
  return language.value === "zh" ? "zh-CN" : "en"
}

export function followLanguage(): void {
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-Hans" : "en"
  })
}

export function chooseLanguage(chosen: Language): void {
  language.value = chosen
  keep("language", chosen)
}

function preferred(): Language {
  return navigator.languages.find((name) => /^(en|zh)\b/i.test(name))?.startsWith("zh") ? "zh" : "en"
}
