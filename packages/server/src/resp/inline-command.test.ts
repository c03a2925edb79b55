import { describe, expect, it } from "vitest"
import { splitInline } from "./inline-command.js"

describe("a line typed by hand", () => {
  it.each([
    ["PING", ["PING"]],
    ["  CL.THROTTLE\tuser 15  30 60 \r", ["CL.THROTTLE", "user", "15", "30", "60"]],
    ["", []],
    ["   \r", []],
    ['ECHO "two words"', ["ECHO", "two words"]],
    ["ECHO 'two words'", ["ECHO", "two words"]],
    ['ECHO ""', ["ECHO", ""]],
    ['ECHO "a\\r\\n\\t\\x41\\"\\\\"', ["ECHO", 'a\r\n\tA"\\']],
    ["ECHO 'it\\'s \\n'", ["ECHO", "it's \\n"]],
    ['ECHO "\\xff"', ["ECHO", "\u00ff"]],
    ['ECHO "\\xg1"', ["ECHO", "xg1"]],
  ])("%j is the words %j", (line, words) => {
    expect(splitInline(line)).toEqual(words)
  })

  it.each(['ECHO "open', "ECHO 'open", 'ECHO "a"b', "ECHO 'a'b", 'ECHO "a\\'])("%j is refused", (line) => {
    expect(splitInline(line)).toBeUndefined()
  })
})
