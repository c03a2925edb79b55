const SHAPES = {
  overview: "M3 12h4l3-8 4 16 3-8h4",
  rules: "M4 6h16M4 12h10M4 18h6M18 14v6M15 17h6",
  try: "M5 4l14 8-14 8z",
  clients: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21a7 7 0 0 1 14 0M17 4a4 4 0 0 1 0 7M19 14a7 7 0 0 1 3 7",
  playground: "M3 17l5-6 4 4 5-8 4 5M3 21h18",
  replay: "M4 4v6h6M4.5 15a8 8 0 1 0 1-8L4 10",
  docs: "M5 4h10l4 4v12H5zM14 4v5h5M8 13h8M8 17h8",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5",
  dark: "M20 14a8 8 0 1 1-9-11 7 7 0 0 0 9 11z",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  search: "M10 4a6 6 0 1 0 0 12 6 6 0 0 0 0-12M15 15l6 6",
  close: "M5 5l14 14M19 5L5 19",
  check: "M4 12l5 6L20 6",
  warning: "M12 3l10 18H2zM12 10v5M12 18v.5",
  chevron: "M9 5l7 7-7 7",
  plus: "M12 5v14M5 12h14",
  out: "M10 4H5v16h5M14 8l5 4-5 4M19 12H9",
} as const

export type IconName = keyof typeof SHAPES

/** An icon. Screen readers ignore it, so it needs a text beside it or a labelled element around it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={SHAPES[name]} />
    </svg>
  )
}
