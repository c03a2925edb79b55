const en = {
  keys: "Tab indents. Press Escape, then Tab, to leave the editor. Control and Space show what may be typed.",
  suggestions: "Suggestions",
  found: (count: number) => (count === 1 ? "1 suggestion" : `${count} suggestions`),
  mistakes: (count: number) => (count === 1 ? "1 mistake" : `${count} mistakes`),
  fine: "No mistakes",
  line: (line: number) => `Line ${line}`,
}

const zh: typeof en = {
  keys: "Tab 键缩进。先按 Escape 再按 Tab 可离开编辑器。Ctrl+空格显示可输入的内容。",
  suggestions: "建议",
  found: (count) => `${count} 条建议`,
  mistakes: (count) => `${count} 处错误`,
  fine: "没有错误",
  line: (line) => `第 ${line} 行`,
}

export const texts = { en, zh }
