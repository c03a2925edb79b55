import { setTimeout as wait } from "node:timers/promises"
import type { TopInvocation } from "../../catalog/top.js"
import type { ExitCode } from "../../command.js"
import { controlPlane, type ServiceClient } from "../../service-client.js"
import { Screen } from "../../terminal/screen.js"
import type { Terminal } from "../../terminal/terminal.js"
import { TopModel } from "./model.js"
import { keyHelp, viewLines } from "./view.js"
import { type FollowOptions, follow, openEvents, refresh } from "./watcher.js"

const REDRAW_MS = 1_000
/** The service sends an event every second, so this is long enough for two. */
const SNAPSHOT_MS = 2_100

interface WatchedService {
  readonly service: ServiceClient
  readonly events: FollowOptions["events"]
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
    const onConnection = (problem: string | undefined) => void (problem && terminal.note(problem))
    await follow({ service, events, signal, onEvent: (data) => terminal.print(data), onConnection })
    return 0
  }
  const model = new TopModel()
  model.by = options.by === "used" ? "used" : "denied"
  await refresh(service, model)
  const watched = { service, events, model, stop, terminal }
  if (options.once || !terminal.isInteractive) await printSnapshot(watched)
  else await showLive(watched)
  return 0
}

async function printSnapshot(watched: WatchedService): Promise<void> {
  const { service, model, stop, terminal } = watched
  const following = updateModel(watched)
  await wait(SNAPSHOT_MS, undefined, { signal: stop.signal }).catch(() => {})
  await refresh(service, model)
  stop.abort()
  await following
  const size = { width: terminal.isInteractive ? terminal.width : 120, height: Number.POSITIVE_INFINITY }
  terminal.print(viewLines(model, service.url, size, terminal.style).join("\n"))
}

async function showLive(watched: WatchedService): Promise<void> {
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
    await updateModel(watched)
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

/** Passes events to the model until `stop` is aborted. */
async function updateModel({ service, events, model, stop }: WatchedService): Promise<void> {
  model.tick(Date.now())
  await follow({
    service,
    events,
    signal: stop.signal,
    onEvent: (data) => model.update(JSON.parse(data), Date.now()),
    onConnection: (problem) => {
      model.connectionProblem = problem
    },
  })
}
