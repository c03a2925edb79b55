import { setTimeout as wait } from "node:timers/promises"
import type { TopInvocation } from "../catalog/top.js"
import type { ExitCode } from "../command.js"
import { Screen } from "../screen.js"
import { controlPlane, type Service } from "../service.js"
import type { Terminal } from "../terminal.js"
import { TopModel } from "./top/model.js"
import { keyHelp, viewLines } from "./top/view.js"
import { type Following, follow, openEvents, refresh } from "./top/watcher.js"

const REDRAW_MS = 1_000
/** Long enough for two events. */
const LOOK_MS = 2_100

interface Watched {
  readonly service: Service
  readonly events: Following["events"]
  readonly model: TopModel
  readonly stop: AbortController
  readonly terminal: Terminal
}

export async function watchTop({ options, terminal, env }: TopInvocation): Promise<ExitCode> {
  const service = controlPlane(options, env)
  const stop = new AbortController()
  const { signal } = stop
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => stop.abort())
  const events = await openEvents(service, signal)
  if (options.json) {
    const onTrouble = (trouble: string | undefined) => void (trouble && terminal.note(trouble))
    await follow({ service, events, signal, onEvent: (data) => terminal.print(data), onTrouble })
    return 0
  }
  const model = new TopModel()
  model.by = options.by === "used" ? "used" : "denied"
  await refresh(service, model)
  const watched = { service, events, model, stop, terminal }
  if (options.once || !terminal.isInteractive) await look(watched)
  else await live(watched)
  return 0
}

/** Listens for a moment, and prints. */
async function look(watched: Watched): Promise<void> {
  const { service, model, stop, terminal } = watched
  const following = fill(watched)
  await wait(LOOK_MS, undefined, { signal: stop.signal }).catch(() => {})
  await refresh(service, model)
  stop.abort()
  await following
  const size = { width: terminal.isInteractive ? terminal.width : 120, height: Number.POSITIVE_INFINITY }
  terminal.print(viewLines(model, service.url, size, terminal.style).join("\n"))
}

async function live(watched: Watched): Promise<void> {
  const { service, model, stop, terminal } = watched
  const screen = new Screen(terminal, (key) => {
    if (key === "q" || key === "\x03" || key === "\x04") stop.abort()
    else if (key === "d" || key === "u") {
      model.by = key === "u" ? "used" : "denied"
      void refresh(service, model).then(draw)
    }
  })
  terminal.stdout.on("resize", draw)
  const timer = setInterval(() => {
    draw()
    void refresh(service, model).then(draw)
  }, REDRAW_MS)
  try {
    draw()
    await fill(watched)
  } finally {
    clearInterval(timer)
    terminal.stdout.off("resize", draw)
    screen.close()
  }

  function draw(): void {
    model.tick(Date.now())
    const { style, width } = terminal
    const lines = viewLines(model, service.url, { width, height: screen.height - 1 }, style)
    screen.draw([...lines, "", keyHelp(style)])
  }
}

/** Tells the model what happens, until somebody stops it. */
async function fill({ service, events, model, stop }: Watched): Promise<void> {
  model.tick(Date.now())
  await follow({
    service,
    events,
    signal: stop.signal,
    onEvent: (data) => model.hear(JSON.parse(data), Date.now()),
    onTrouble: (trouble) => {
      model.trouble = trouble
    },
  })
}
