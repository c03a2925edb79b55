// Handles the requests of one turn of the event loop one after the other, and then writes their answers one after the other. Under
// load this takes 20 to 40 % less processor time than to handle each request as it arrives: see docs/internals.md.

/** Something that is done at the end of the turn. It never throws, except on a fault of ours. */
export interface AtEndOfTurn {
  endTurn(): void
}

let waiting: AtEndOfTurn[] = []

/** Calls `work.endTurn` once all events at hand are read, after the work that was added before. */
export function atEndOfTurn(work: AtEndOfTurn): void {
  if (waiting.push(work) === 1) setImmediate(run)
}

/** Also does what is added meanwhile: the answers to the requests that it handles. */
function run(): void {
  const works = waiting
  let done = 0
  try {
    while (done < works.length) works[done++]?.endTurn()
  } finally {
    // What threw must not keep the others from being done.
    waiting = works.slice(done)
    if (waiting.length > 0) setImmediate(run)
  }
}
