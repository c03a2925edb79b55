import cluster from "node:cluster"

/** The first that systemd hands over; those below are standard input, output and error. */
const FIRST_FD = 3

/**
 * A socket that listens already, as systemd's socket activation hands it over (LISTEN_FDS, LISTEN_PID): it belongs to the
 * service manager and stays open over a restart, so that no connection is refused meanwhile. Undefined when there is none.
 */
export function inheritedSocket(env: NodeJS.ProcessEnv = process.env): number | undefined {
  // Workers ask their primary for sockets, so theirs is the primary's.
  const pid = cluster.isWorker ? process.ppid : process.pid
  return env.LISTEN_PID === String(pid) && Number(env.LISTEN_FDS) >= 1 ? FIRST_FD : undefined
}
