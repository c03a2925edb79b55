const en = {
  /** `mod` is the modifier key of the platform, Ctrl or Cmd. */
  keys: (mod: string) =>
    `Ctrl+Space: suggestions · ${mod}+F: search · Tab: indent · Escape, then Tab: leave the editor`,
  mistakes: (count: number) => (count === 1 ? "1 mistake" : `${count} mistakes`),
  fine: "No mistakes",
  line: (line: number) => `Line ${line}`,
}

const zh: typeof en = {
  keys: (mod) => `Ctrl+空格：显示建议 · ${mod}+F：搜索 · Tab：缩进 · 先按 Escape 再按 Tab：离开编辑器`,
  mistakes: (count) => `${count} 处错误`,
  fine: "没有错误",
  line: (line) => `第 ${line} 行`,
}

export const texts = { en, zh }

/** The phrases of CodeMirror, which has English built in. */
export const phrases = {
  en: {
    Completions: "Suggestions",
  },
  zh: {
    Completions: "建议",
    "Control character": "控制字符",
    Diagnostics: "错误",
    "Selection deleted": "已删除所选内容",
    Find: "查找",
    Replace: "替换为",
    next: "下一个",
    previous: "上一个",
    all: "全部选中",
    "match case": "区分大小写",
    regexp: "正则表达式",
    "by word": "全字匹配",
    replace: "替换",
    "replace all": "全部替换",
    close: "关闭",
    "current match": "当前匹配",
    "on line": "在第几行：",
    "replaced $ matches": "已替换 $ 处",
    "replaced match on line $": "已替换第 $ 行的匹配",
    "Go to line": "转到行",
    go: "转到",
    "Folded lines": "已折叠行",
    "Unfolded lines": "已展开行",
    to: "至",
    "folded code": "已折叠的内容",
    unfold: "展开",
    "Fold line": "折叠",
    "Unfold line": "展开",
  },
}
