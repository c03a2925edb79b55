import { expect, it } from "vitest"
import { Templates } from "./go-template.js"

function render(source: string, root: object = {}): string {
  const templates = new Templates()
  return templates.render(templates.add(source), root)
}

it.each([
  ["a{{ .b.c }}d", "a1d"],
  ["a \n{{- .b.c -}}\n d", "a1d"],
  ["{{ if .no }}yes{{ else }}no{{ end }}", "no"],
  ["{{ with .b }}{{ .c }}{{ end }}{{ with .no }}never{{ end }}", "1"],
  ["{{ range $k, $v := .b }}{{ $k }}={{ $v }}{{ $.list }};{{ end }}", "c=1x,y;"],
  ['{{ $a := .b.c }}{{ printf "%s-%s" $a (.no | default "d") | quote }}', '"1-d"'],
  ['{{ define "t" }}<{{ .c }}>{{ end }}{{ include "t" .b | nindent 2 }}', "\n  <1>"],
  ["{{- /* why */ -}} x", "x"],
])("renders %j as Go does", (source, expected) => {
  expect(render(source, { b: { c: 1 }, no: "", list: ["x", "y"] })).toBe(expected)
})

it.each([
  ["{{ .Values.nme }}", "there is no nme"],
  ["{{ if .Values }}", "has no end"],
  ["{{ end }}", "ends nothing"],
  ["{{ .Values", "is not closed"],
  ["a }}", "closes nothing"],
  ["{{ upper .Values }}", "upper, which is not among the known functions"],
  ['{{ include "x" . }}', "no template is called x"],
  ['{{ fail "why" }}', "why"],
])("refuses %j", (source, message) => {
  expect(() => render(source, { Values: { name: 1 } })).toThrow(message)
})
