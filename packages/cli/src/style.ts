type Paint = (text: string) => string

/** The few ways in which text may stand out. What matters is in the words too: colour alone says nothing. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly cyan: Paint
}

export function createStyle(hasColours: boolean): Style {
  const paint =
    (on: number, off: number): Paint =>
    (text) =>
      hasColours ? `\x1b[${on}m${text}\x1b[${off}m` : text
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  }
}
