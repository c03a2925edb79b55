import { SluiceError } from "sluice"
import { ListenError } from "./listen-error.js"

/** A worker that could not start because of a mistake that it has put into words. */
export class WorkerError extends Error {
  override readonly name = "WorkerError"
}

/** Whether the message of an error tells a person all there is to know. Others need their stack. */
export function isExplained(error: unknown): error is Error {
  return error instanceof SluiceError || error instanceof ListenError || error instanceof WorkerError
}
